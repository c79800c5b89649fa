//! The product's own programs: where they are, and what an operator asks of one of them.

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
                folder.canonicalize().with_context(|| format!("{} is not there", folder.display()))?
            }
            None => std::env::current_exe()?.parent().context("this program is nowhere")?.to_owned(),
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

/// An operator's command, straight on the database. Its answer.
pub(crate) async fn admin(daemon: &Path, database_url: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(daemon);
    command.args(arguments).env("GREENROOM_DATABASE_URL", database_url).env("GREENROOM_LOG", "warn");
    let output = command.stdin(Stdio::null()).output().await?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("greenroomd {} failed: {words}", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}

pub(crate) async fn admin_json(
    daemon: &Path,
    database_url: &str,
    arguments: &[&str],
) -> anyhow::Result<Value> {
    let said = admin(daemon, database_url, arguments).await?;
    serde_json::from_str(&said).with_context(|| format!("greenroomd {} said no JSON", arguments.join(" ")))
}
