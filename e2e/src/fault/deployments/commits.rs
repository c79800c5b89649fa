//! A repository with a commit for every possible request. No two requests use the same commit, so each
//! deployment can be attributed to its request.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const NAME: &str = "shop.git";

#[derive(Debug)]
pub(crate) struct Commits(Vec<String>);

impl Commits {
    /// Creates the repository below `root`.
    pub(crate) async fn make(root: &Path, count: usize) -> anyhow::Result<Self> {
        let repository = root.join(NAME);
        std::fs::create_dir_all(&repository)?;
        git(&repository, &["init", "--quiet", "--bare", "--initial-branch=main"], "").await?;
        let history: String = (1..=count).map(commit).collect();
        git(&repository, &["fast-import", "--quiet", "--export-marks=marks"], &history).await?;
        let marks = std::fs::read_to_string(repository.join("marks"))?;
        let mut commits: Vec<(usize, String)> = marks
            .lines()
            .filter_map(|line| line.strip_prefix(':')?.split_once(' '))
            .filter_map(|(mark, id)| Some((mark.parse().ok()?, id.to_owned())))
            .collect();
        commits.sort_unstable();
        if commits.len() != count {
            bail!("git made {} commits instead of {count}", commits.len());
        }
        Ok(Self(commits.into_iter().map(|(_, id)| id).collect()))
    }

    /// The repository's name at the git server.
    pub(crate) fn repository(&self) -> &'static str {
        NAME
    }

    pub(crate) fn all(&self) -> &[String] {
        &self.0
    }
}

/// A commit in the format of `git fast-import`. The time is constant, so that the ids are always the same.
fn commit(number: usize) -> String {
    let (message, content) = (format!("change {number}\n"), format!("{number}\n"));
    format!(
        "commit refs/heads/main\nmark :{number}\ncommitter Fault <fault@example.test> 1767225600 +0000\n\
         data {}\n{message}M 644 inline app/version\ndata {}\n{content}\n",
        message.len(),
        content.len()
    )
}

/// Runs git without the user's settings.
async fn git(folder: &Path, arguments: &[&str], input: &str) -> anyhow::Result<()> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("git is needed: apt-get install git")?;
    let mut stdin = child.stdin.take().context("git has no standard input")?;
    stdin.write_all(input.as_bytes()).await?;
    drop(stdin);
    if !child.wait().await?.success() {
        bail!("git {} failed", arguments.join(" "));
    }
    Ok(())
}
