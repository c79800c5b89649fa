//! The product's own programs: their paths, and the operator's commands of one of them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) daemon: PathBuf,
    pub(crate) runner: PathBuf,
    pub(crate) entry: PathBuf,
}

impl Programs {
    /// In `folder`, or beside this program; daemon and entrypoint may be elsewhere.
    pub(crate) fn find(
        folder: Option<&Path>,
        daemon: Option<&Path>,
        entry: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let folder = match folder {
            Some(folder) => {
                folder.canonicalize().with_context(|| format!("{} does not exist", folder.display()))?
            }
            None => std::env::current_exe()?.parent().context("this program has no folder")?.to_owned(),
        };
        let entry = entry.map_or_else(|| folder.join("greenroom-entry"), Path::to_owned);
        let daemon = daemon.map_or_else(|| folder.join("greenroomd"), Path::to_owned);
        let own = Self { daemon, runner: folder.join("greenroom-runner"), entry };
        for program in [&own.daemon, &own.runner, &own.entry] {
            if !program.is_file() {
                bail!("{} is missing; `cargo xtask` builds it", program.display());
            }
        }
        Ok(own)
    }
}

/// Runs an operator's command directly on the database and returns its output.
pub(crate) async fn admin(daemon: &Path, database_url: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(daemon);
    command.args(arguments).env("GREENROOM_DATABASE_URL", database_url).env("GREENROOM_LOG", "warn");
    let output = command.stdin(Stdio::null()).output().await?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("greenroomd {} failed: {errors}", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}

pub(crate) async fn admin_json(
    daemon: &Path,
    database_url: &str,
    arguments: &[&str],
) -> anyhow::Result<Value> {
    let output = admin(daemon, database_url, arguments).await?;
    serde_json::from_str(&output)
        .with_context(|| format!("greenroomd {} printed no JSON", arguments.join(" ")))
}
