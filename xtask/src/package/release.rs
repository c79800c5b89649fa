//! What is built: version, commit, and the date that files are given, so that two builds of a commit are the same.

use std::env;
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::workspace::{self, Workspace};

/// After the commit, if the checkout has changes that are not in it.
const CHANGED: &str = "-changed";

#[derive(Serialize)]
pub(crate) struct Release {
    pub(crate) version: String,
    /// With `-changed` if the checkout has changes that are not in it.
    pub(crate) commit: String,
    /// Seconds since 1970: `SOURCE_DATE_EPOCH`, or when the commit was made.
    pub(crate) epoch: u64,
    /// The same as a date: `2026-11-19`.
    pub(crate) date: String,
    /// The architecture, as Debian names it.
    pub(crate) architecture: &'static str,
}

impl Release {
    pub(crate) fn of(workspace: &Workspace) -> anyhow::Result<Self> {
        let server = workspace.packages.iter().find(|package| package.name == "greenroom-server");
        let version = server.context("the workspace has no greenroom-server")?.version.clone();
        let changed = if git(workspace, &["status", "--porcelain"])?.is_empty() { "" } else { CHANGED };
        let commit = format!("{}{changed}", git(workspace, &["rev-parse", "HEAD"])?);
        let epoch = match env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => git(workspace, &["log", "-1", "--format=%ct"])?,
        };
        let date = workspace::output(
            Command::new("date").args(["--utc", "+%F", "--date"]).arg(format!("@{epoch}")),
        )?;
        let architecture = match env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => anyhow::bail!("packages are not made for {other}"),
        };
        Ok(Self {
            version,
            commit,
            epoch: epoch.parse().context("SOURCE_DATE_EPOCH is not a number of seconds")?,
            date: date.trim().to_owned(),
            architecture,
        })
    }

    /// Returns what `--version` prints: `0.1.0 (a7b43eea2196, 2026-11-19)`.
    pub(crate) fn long_version(&self) -> String {
        let commit: String = self.commit.chars().take(12).collect();
        let changed = if self.commit.ends_with(CHANGED) { CHANGED } else { "" };
        format!("{} ({commit}{changed}, {})", self.version, self.date)
    }

    /// Returns a command whose program takes its dates from the release.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        command
    }
}

fn git(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    let text = workspace::output(git.args(arguments).current_dir(&workspace.workspace_root))?;
    Ok(text.trim().to_owned())
}
