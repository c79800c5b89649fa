//! Steps as processes of this machine, under the runner's own user: no isolation at all. For machines on which everybody
//! who may change a pipeline may do anything, and for tests. The entrypoint finds and ends a step's orphans.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use greenroom_api_types::runner::Job;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdout, Command};

use super::{
    ALIVE_FILE, Backend, BackendError, Ended, Images, NotReady, OUTPUT_FILE, OUTPUT_VARIABLE, Result,
    Running, StepPlan,
};

/// The entrypoint's word for "kill all of it, now".
const KILL_ALL: Signal = Signal::SIGUSR1;
/// How long the entrypoint may take for that.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Process {
    /// Where `greenroom-entry` is.
    pub entry: PathBuf,
}

impl Backend for Process {
    type Running = Supervised;

    /// What a former life has left ends by itself: its alive file stays as it is, or is removed with its folder.
    async fn sweep(&self) -> Result<()> {
        Ok(())
    }

    async fn ready(&self, _job: &Job, _slot: u32) -> std::result::Result<Images, NotReady> {
        if !self.entry.is_file() {
            return Err(BackendError(format!("the entrypoint is not at {}", self.entry.display())).into());
        }
        Ok(Images::new())
    }

    async fn prepare(&self, plan: &StepPlan) -> Result<Supervised> {
        let folders = &plan.folders;
        tokio::fs::create_dir_all(&folders.home).await.map_err(|error| {
            BackendError(format!("{} could not be made: {error}", folders.home.display()))
        })?;
        let mut command = Command::new(&self.entry);
        command
            .arg("--alive")
            .arg(folders.control.join(ALIVE_FILE))
            .args(["--silence", &plan.silence.as_secs_f64().to_string(), "--", "/bin/sh", "-e"])
            .arg(folders.control.join(&folders.script))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()))
            .env("HOME", &folders.home)
            .env("TMPDIR", &folders.home)
            .envs(&plan.variables)
            .env(OUTPUT_VARIABLE, folders.output.join(OUTPUT_FILE))
            .current_dir(&folders.workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // The terminal's Ctrl-C is for the runner, which then decides for its steps.
            .process_group(0);
        Ok(Supervised { command, child: None })
    }
}

pub struct Supervised {
    command: Command,
    child: Option<Child>,
}

impl Supervised {
    /// To the entrypoint, as long as it has not been reaped: its number is not another's by then.
    fn signal(&self, signal: Signal) -> Result<()> {
        let Some(number) = self.child.as_ref().and_then(Child::id) else { return Ok(()) };
        let pid = i32::try_from(number)
            .map(Pid::from_raw)
            .map_err(|error| BackendError::new("the step's number", error))?;
        match kill(pid, signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(BackendError::new("the step could not be sent a signal", error)),
        }
    }
}

impl Running for Supervised {
    type Output = ChildStdout;

    async fn start(&mut self) -> Result<ChildStdout> {
        let failed = |error| BackendError::new("the step could not be started", error);
        let mut child = self.command.spawn().map_err(failed)?;
        let output = child.stdout.take();
        self.child = Some(child);
        output.ok_or_else(|| BackendError("the step has no output".to_owned()))
    }

    async fn wait(&mut self) -> Result<Ended> {
        use std::os::unix::process::ExitStatusExt;

        let Some(child) = &mut self.child else {
            return Err(BackendError("the step was not started".to_owned()));
        };
        let status =
            child.wait().await.map_err(|error| BackendError::new("the step's end is not known", error))?;
        let exit_code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(Ended { exit_code, remark: None })
    }

    async fn stop(&mut self) -> Result<()> {
        self.signal(Signal::SIGTERM)
    }

    async fn kill(&mut self) -> Result<()> {
        if self.child.is_none() {
            return Ok(());
        }
        self.signal(KILL_ALL)?;
        match tokio::time::timeout(KILL_PATIENCE, self.wait()).await {
            Ok(ended) => ended.map(drop),
            Err(_) => {
                // The step's own first process goes with it; its orphans may not.
                self.signal(Signal::SIGKILL)?;
                self.wait().await?;
                Err(BackendError(
                    "the step's entrypoint did not answer; some of the step may still run".to_owned(),
                ))
            }
        }
    }

    async fn remove(mut self) -> Result<()> {
        self.kill().await
    }
}
