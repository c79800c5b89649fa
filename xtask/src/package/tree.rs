//! A folder that is filled with the files of a package.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
}

impl Tree {
    /// Empties the folder first.
    pub(crate) fn new(root: PathBuf) -> anyhow::Result<Self> {
        if root.exists() {
            fs::remove_dir_all(&root).with_context(|| format!("cannot empty {}", root.display()))?;
        }
        let tree = Self { root };
        tree.folder(&tree.root)?;
        Ok(tree)
    }

    /// Copies a program.
    pub(crate) fn program(&self, source: &Path, path: &str) -> anyhow::Result<()> {
        let content = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
        self.write(path, &content, 0o755)
    }

    /// Copies a file that every user may read.
    pub(crate) fn file(&self, source: &Path, path: &str) -> anyhow::Result<()> {
        let content = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
        self.write(path, &content, 0o644)
    }

    pub(crate) fn write(&self, path: &str, content: &[u8], mode: u32) -> anyhow::Result<()> {
        let target = self.root.join(path);
        if let Some(folder) = target.parent() {
            self.folder(folder)?;
        }
        fs::write(&target, content)
            .and_then(|()| fs::set_permissions(&target, fs::Permissions::from_mode(mode)))
            .with_context(|| format!("cannot write {}", target.display()))
    }

    /// Makes a folder and those around it, with the same mode whatever the caller's umask is.
    fn folder(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for own in folder.ancestors().take_while(|own| own.starts_with(&self.root)) {
            fs::set_permissions(own, fs::Permissions::from_mode(0o755))
                .with_context(|| format!("cannot set the mode of {}", own.display()))?;
        }
        Ok(())
    }
}
