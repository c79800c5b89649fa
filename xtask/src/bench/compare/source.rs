//! The sources of a revision, or of a checkout with changes that are not committed, as a tree of git: its id is a hash
//! of the names and contents of all files.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::workspace;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree {
    id: String,
}

impl Tree {
    /// Finds the tree of a revision, in any form that git accepts.
    pub(super) fn of_revision(root: &Path, revision: &str) -> anyhow::Result<Self> {
        Self::from_output(git(
            root,
            None,
            &["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{tree}}")],
        ))
    }

    /// Stores the files of a checkout as they are, also those that git does not track and does not ignore. `index` is a
    /// file that git writes; the checkout's own index stays as it is.
    pub(super) fn of_checkout(root: &Path, index: &Path) -> anyhow::Result<Self> {
        workspace::run(&mut git(root, Some(index), &["read-tree", "HEAD"]))?;
        workspace::run(&mut git(root, Some(index), &["add", "--all"]))?;
        Self::from_output(git(root, Some(index), &["write-tree"]))
    }

    /// Runs a command that prints the id of a tree.
    fn from_output(mut git: Command) -> anyhow::Result<Self> {
        Ok(Self { id: workspace::output(&mut git)?.trim().to_owned() })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Replaces a folder by the files of the tree.
    pub(super) fn write(&self, root: &Path, index: &Path, folder: &Path) -> anyhow::Result<()> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        workspace::run(&mut git(root, Some(index), &["read-tree", &self.id]))?;
        let prefix = format!("--prefix={}/", folder.display());
        workspace::run(&mut git(root, Some(index), &["checkout-index", "--all", &prefix]))
    }
}

fn git(root: &Path, index: Option<&Path>, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(root);
    if let Some(index) = index {
        git.env("GIT_INDEX_FILE", index);
    }
    git
}
