//! The repository whose commits fail and are fixed: one file with a value for each fix.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::Command;

/// Below the folder that the git server serves, as the forge names it.
pub(super) const NAME: &str = "acme/shop";

pub(super) struct Repository {
    /// Where commits are made.
    work: PathBuf,
    bare: PathBuf,
}

/// A commit that fails, and one on top of it.
pub(super) struct Change {
    pub(super) red: (String, String),
    pub(super) green: (String, String),
}

impl Repository {
    pub(super) async fn make(served: &Path, work: PathBuf) -> anyhow::Result<Self> {
        let bare = served.join(NAME);
        std::fs::create_dir_all(&bare)?;
        std::fs::create_dir_all(&work)?;
        git(&bare, &["init", "--quiet", "--bare", "--initial-branch=main"]).await?;
        git(&work, &["init", "--quiet", "--initial-branch=main"]).await?;
        git(&work, &["remote", "add", "origin", &bare.to_string_lossy()]).await?;
        let repository = Self { work, bare };
        repository.write("README", "Values to try fixes on.")?;
        repository.commit("main").await?;
        Ok(repository)
    }

    pub(super) async fn main(&self) -> anyhow::Result<String> {
        git(&self.work, &["rev-parse", "main"]).await
    }

    /// Pushes a branch on which the value is wrong, and one on which it is right, or still wrong.
    pub(super) async fn change(&self, name: &str, is_right: bool) -> anyhow::Result<Change> {
        let (work, fix) = (format!("work-{name}"), format!("fix-{name}"));
        git(&self.work, &["checkout", "--quiet", "-B", &work, "main"]).await?;
        self.write("name", name)?;
        self.write("value", "wrong")?;
        let red = self.commit(&work).await?;
        git(&self.work, &["checkout", "--quiet", "-B", &fix]).await?;
        self.write("value", if is_right { "right" } else { "worse" })?;
        let green = self.commit(&fix).await?;
        Ok(Change { red: (red, work), green: (green, fix) })
    }

    /// Returns a new work tree, in which a branch with the wrong value is checked out.
    pub(super) async fn clone_for_agent(&self, folder: &Path) -> anyhow::Result<()> {
        let change = self.change("agent", true).await?;
        let (from, to) = (self.bare.to_string_lossy(), folder.to_string_lossy());
        git(&self.work, &["clone", "--quiet", "--branch", &change.red.1, &from, &to]).await.map(drop)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.work.join(name), format!("{text}\n"))?)
    }

    async fn commit(&self, branch: &str) -> anyhow::Result<String> {
        git(&self.work, &["add", "--all"]).await?;
        git(&self.work, &["commit", "--quiet", "--message", branch]).await?;
        git(&self.work, &["push", "--quiet", "--force", "origin", &format!("HEAD:{branch}")]).await?;
        git(&self.work, &["rev-parse", "HEAD"]).await
    }
}

async fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=Campaign", "-c", "user.email=campaign@example.test"])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .await
        .context("git can't be started")?;
    if !output.status.success() {
        bail!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
