//! Signals to single processes, each by its own pid.

use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::{Child, Command};

/// `signal` as `kill` names it: `STOP`, `CONT`, `KILL`, `INT`.
pub(crate) async fn send(signal: &str, pid: u32) -> anyhow::Result<()> {
    let mut kill = Command::new("kill");
    let status = kill.args(["-s", signal, &pid.to_string()]).stderr(Stdio::null()).status().await?;
    if !status.success() {
        bail!("could not send {signal} to {pid}");
    }
    Ok(())
}

pub(crate) fn pid(child: &Child) -> anyhow::Result<u32> {
    child.id().context("the process has ended already")
}

/// Returns the live processes that `parent` has started.
pub(crate) async fn children(parent: u32) -> Vec<u32> {
    let listed = tokio::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).await;
    listed.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
