//! The scenario's own folder, `SCENARIO_DIR`: steps record there what they do, and wait for files that the
//! script creates.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::parts::left_over::processes_with;

#[derive(Debug)]
pub(crate) struct StageFolder(PathBuf);

impl StageFolder {
    pub(crate) fn make(path: PathBuf) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn touch(&self, name: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.file(name)?, "")?)
    }

    pub(crate) fn text(&self, name: &str) -> anyhow::Result<String> {
        std::fs::read_to_string(self.file(name)?)
            .with_context(|| format!("the steps have written no file `{name}`"))
    }

    /// Returns no lines for a file that does not exist.
    pub(crate) fn lines(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let text = std::fs::read_to_string(self.file(name)?).unwrap_or_default();
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn file(&self, name: &str) -> anyhow::Result<PathBuf> {
        if name.contains('/') || name.starts_with('.') {
            bail!("`{name}` is no file of a scenario");
        }
        Ok(self.0.join(name))
    }

    /// Returns the processes of steps that still run: they have the folder in their environment.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let own = format!("SCENARIO_DIR={}", self.0.display());
        processes_with(&own)
    }
}
