//! The repository that every scenario deploys from, with named commits:
//!
//! ```text
//! first ─── main      README, app/version = 1, then 2
//!    └───── other     app/version = 3
//!              └───── third    app/version = 4
//! ```

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::Command;

pub(crate) const NAME: &str = "shop.git";
const COMMITS: [&str; 4] = ["first", "main", "other", "third"];

#[derive(Debug)]
pub(crate) struct Repository {
    commits: Vec<(&'static str, String)>,
}

impl Repository {
    /// Creates the repository below `root`.
    pub(crate) async fn make(root: &Path) -> anyhow::Result<Self> {
        let work = Work(root.join("shop"));
        std::fs::create_dir_all(work.0.join("app"))?;
        work.git(&["init", "--quiet", "--initial-branch=main"]).await?;
        std::fs::write(work.0.join("README"), "A shop, to try deployments on.\n")?;
        let mut commits = Vec::new();
        for (number, name) in COMMITS.into_iter().enumerate() {
            if name == "other" {
                work.git(&["checkout", "--quiet", "-b", "other", "first"]).await?;
            }
            std::fs::write(work.0.join("app/version"), format!("{}\n", number + 1))?;
            work.git(&["add", "--all"]).await?;
            work.git(&["commit", "--quiet", "--message", name]).await?;
            if name != "main" && name != "other" {
                work.git(&["branch", name]).await?;
            }
            commits.push((name, work.git(&["rev-parse", "HEAD"]).await?));
        }
        let bare = root.join(NAME);
        let (from, to) = (work.0.to_string_lossy().into_owned(), bare.to_string_lossy().into_owned());
        work.git(&["clone", "--quiet", "--bare", &from, &to]).await?;
        Ok(Self { commits })
    }

    /// Returns a commit's id by its name.
    pub(crate) fn commit(&self, name: &str) -> anyhow::Result<String> {
        let found = self.commits.iter().find(|(known, _)| *known == name);
        let (_, id) =
            found.with_context(|| format!("no commit is called `{name}`; there are {COMMITS:?}"))?;
        Ok(id.clone())
    }
}

/// A work tree.
pub(super) struct Work(pub(super) PathBuf);

impl Work {
    /// Runs git without the user's settings, and with a constant time, so that the ids are always the same.
    pub(super) async fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=Scenario", "-c", "user.email=scenario@example.test"])
            .args(arguments)
            .current_dir(&self.0)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .stdin(Stdio::null())
            .output()
            .await
            .context("git is needed: apt-get install git")?;
        if !output.status.success() {
            bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}
