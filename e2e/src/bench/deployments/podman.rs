//! The baseline of a container step: `podman run` of the same image with the same command, mounts and limits.

use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use tokio::process::Command;

use crate::parts::containers::{Containers, IMAGE, ULIMITS};

/// The resource limits of a step, on either side.
pub(crate) struct Limits;

impl Limits {
    pub(crate) const fn of_the_runner() -> [&'static str; 8] {
        ["--memory-mib", "256", "--tmp-mib", "32", "--cpus", "1", "--pids", "64"]
    }

    /// The limits are the same as in crates/runner/src/backend/container/isolation.rs.
    fn of_podman(command: &mut Command) {
        command.args(["--memory", "256m", "--memory-swap", "256m", "--cpus", "1", "--pids-limit", "64"]);
        command.args(["--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777,size=33554432"]);
        command.args(["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"]);
        for limit in ULIMITS.split(',') {
            command.args(["--ulimit", limit]);
        }
    }
}

/// Runs a script to its end and removes its container. Returns how many seconds that took. `workspace` is an
/// empty folder.
pub(crate) async fn run(containers: &Containers, workspace: &Path, script: &str) -> anyhow::Result<f64> {
    let mut command = containers.podman();
    command.args(["run", "--rm", "--network", "bridge", "--log-driver", "none"]);
    Limits::of_podman(&mut command);
    command.arg("--volume").arg(format!("{}:/workspace:rw", workspace.display()));
    command.args(["--workdir", "/workspace", "--env", "HOME=/tmp", "--entrypoint", "/bin/sh"]);
    command.args([IMAGE, "-e", "-c", script]);
    let began = Instant::now();
    let output = command.output().await?;
    let seconds = began.elapsed().as_secs_f64();
    if !output.status.success() {
        bail!("podman run failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(seconds)
}
