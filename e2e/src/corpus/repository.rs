//! The repository that is deployed: one commit per run, with the scripts of all cases, and that run's noise.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::Command;

use crate::corpus::FOLDER;
use crate::corpus::case::Case;
use crate::corpus::log::{RUNS, is_good};
use crate::corpus::noise::Noise;

pub(super) const REPOSITORY: &str = "corpus.git";

/// Makes the repository below `root`, and returns the commits of `RUNS`.
pub(super) async fn make(root: &Path, cases: &[Case]) -> anyhow::Result<Vec<String>> {
    let work = root.join("corpus");
    for folder in ["cases", "noise"] {
        std::fs::create_dir_all(work.join(folder))?;
    }
    std::fs::copy(Path::new(FOLDER).join("harness.sh"), work.join("harness.sh"))?;
    for case in cases {
        std::fs::write(work.join("cases").join(format!("{}.sh", case.name)), &case.script)?;
    }
    git(&work, &["init", "--quiet", "--initial-branch=main"]).await?;
    let mut commits = Vec::new();
    for (seed, run) in (1..).zip(RUNS) {
        let good = if is_good(run) { "1" } else { "" };
        std::fs::write(work.join("run.env"), format!("GOOD={good}\nRUN={run}\n"))?;
        std::fs::write(work.join("noise/before"), Noise::new(seed).build())?;
        git(&work, &["add", "--all"]).await?;
        git(&work, &["commit", "--quiet", "--message", run]).await?;
        commits.push(git(&work, &["rev-parse", "HEAD"]).await?);
    }
    let bare = root.join(REPOSITORY).to_string_lossy().into_owned();
    git(&work, &["clone", "--quiet", "--bare", ".", &bare]).await?;
    Ok(commits)
}

async fn git(work: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Corpus", "-c", "user.email=corpus@example.test"]).args(arguments);
    command.current_dir(work).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.stdin(Stdio::null()).output().await.context("git is needed")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
