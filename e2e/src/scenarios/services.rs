//! Starts and kills PostgreSQL and Temporal with `dev/stack`, and restarts them with the same data and on the
//! same ports.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

use crate::parts::signal;

pub(crate) struct Services {
    stack: String,
    pub(crate) database_url: String,
    pub(crate) temporal_address: String,
    /// The folder of PostgreSQL's own programs.
    pub(crate) postgres_programs: PathBuf,
    /// The folder of the stack.
    pub(crate) folder: PathBuf,
}

impl Services {
    pub(crate) async fn start(stack: &str) -> anyhow::Result<Self> {
        let output = up(stack).await?;
        let field = |key: &str| {
            output[key].as_str().map(str::to_owned).with_context(|| format!("dev/stack printed no {key}"))
        };
        let folder = std::env::current_dir()?.join(".stack").join(stack);
        let (database_url, temporal_address) = (field("databaseUrl")?, field("temporalAddress")?);
        let postgres_programs = field("postgresBin")?.into();
        Ok(Self { stack: stack.to_owned(), database_url, temporal_address, postgres_programs, folder })
    }

    /// Starts those services that are not running.
    pub(crate) async fn up(&self) -> anyhow::Result<()> {
        up(&self.stack).await.map(drop)
    }

    /// Sends SIGKILL to `postgres` or `temporal`.
    pub(crate) async fn kill(&self, part: &str) -> anyhow::Result<()> {
        signal::send("KILL", self.pid(part)?).await
    }

    /// Returns the pid of `postgres` or `temporal`.
    pub(crate) fn pid(&self, part: &str) -> anyhow::Result<u32> {
        let state = std::fs::read_to_string(self.folder.join("state.json"))?;
        let state: Value = serde_json::from_str(&state)?;
        let pid = state["processes"][part]["pid"].as_u64().with_context(|| format!("{part} does not run"))?;
        Ok(u32::try_from(pid)?)
    }

    /// Deletes all of Temporal's data. Temporal must not be running.
    pub(crate) fn lose_temporal(&self) -> anyhow::Result<()> {
        std::fs::remove_dir_all(self.folder.join("temporal"))?;
        Ok(())
    }

    /// Stops the services. Without `keep`, their data is removed too.
    pub(crate) async fn end(&self, keep: bool) -> anyhow::Result<()> {
        dev_stack(&[if keep { "down" } else { "reset" }, "--name", &self.stack]).await.map(drop)
    }
}

async fn up(stack: &str) -> anyhow::Result<Value> {
    let output = dev_stack(&["up", "--services", "--json", "--name", stack]).await?;
    serde_json::from_str(&output).context("dev/stack printed no JSON")
}

pub(crate) async fn dev_stack(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("dev/stack");
    let output = command.args(arguments).stderr(Stdio::piped()).output().await;
    let output = output.context("run this from the root of the checkout, by `cargo xtask e2e`")?;
    if !output.status.success() {
        bail!("dev/stack {} failed:\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
