//! Runs steps as processes of this machine, as the runner's own user, without any isolation. For machines on
//! which everyone who may change a pipeline may do anything, and for tests. The entrypoint finds and kills a
//! step's orphans.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use greenroom_api_types::runner::Job;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdout, Command};

use super::values_folder::{self, ValuesFolder};
use super::{
    Backend, BackendError, Ended, INPUTS_FILE_VARIABLE, Images, LIVENESS_FILE, NotReady, OUTPUT_FILE,
    OUTPUT_VARIABLE, Result, Running, STEP_FOLDER_VARIABLE, StepFiles, StepPlan, StepValues,
};
use crate::credential::Credentials;

/// The signal on which the entrypoint kills the whole step.
const KILL_ALL: Signal = Signal::SIGUSR1;
/// How long the entrypoint may take to kill the step.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Process {
    /// The path of `greenroom-entry`.
    pub entry: PathBuf,
}

impl Backend for Process {
    type Running = ProcessStep;

    /// Removes files with secrets that a killed runner has left. Steps of a previous process are killed by their
    /// entrypoints, because their liveness file does not change any more or is removed.
    async fn sweep(&self) -> Result<()> {
        tokio::task::spawn_blocking(values_folder::sweep)
            .await
            .map_err(|error| BackendError::new("could not remove old files with secrets", error))
    }

    async fn ready(
        &self,
        _job: &Job,
        _slot: u32,
        _credentials: &impl Credentials,
    ) -> std::result::Result<Images, NotReady> {
        if !self.entry.is_file() {
            return Err(
                BackendError::message(format!("there is no entrypoint at {}", self.entry.display())).into()
            );
        }
        Ok(Images::new())
    }

    async fn prepare(&self, plan: &StepPlan) -> Result<ProcessStep> {
        let folders = &plan.folders;
        tokio::fs::create_dir_all(&folders.home).await.map_err(|error| {
            BackendError::new(format!("could not create {}", folders.home.display()), error)
        })?;
        let values_path = values_folder::new_path();
        let mut command = Command::new(&self.entry);
        command
            .arg("--alive")
            .arg(folders.control.join(LIVENESS_FILE))
            .args(["--silence", &plan.silence.as_secs_f64().to_string()])
            .arg("--values")
            .arg(&values_path)
            .args(["--", "/bin/sh", "-e"])
            .arg(folders.control.join(&folders.script))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()))
            .env("HOME", &folders.home)
            .env("TMPDIR", &folders.home)
            .envs(&plan.variables)
            .env(OUTPUT_VARIABLE, folders.output.join(OUTPUT_FILE))
            .current_dir(&folders.workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A Ctrl-C of the terminal must only reach the runner, which then terminates its steps.
            .process_group(0);
        if let Some(files) = &folders.registry_step {
            command.env(STEP_FOLDER_VARIABLE, &files.folder).env(INPUTS_FILE_VARIABLE, &files.inputs);
        }
        Ok(ProcessStep { command, child: None, values_path, values_folder: None })
    }
}

pub struct ProcessStep {
    command: Command,
    child: Option<Child>,
    values_path: PathBuf,
    /// `None` if the step has no values that are files.
    values_folder: Option<ValuesFolder>,
}

impl ProcessStep {
    /// Sends a signal to the entrypoint. It is only sent before the child is reaped, so that its process id
    /// can't be reused yet.
    fn signal(&self, signal: Signal) -> Result<()> {
        let Some(id) = self.child.as_ref().and_then(Child::id) else { return Ok(()) };
        let pid = i32::try_from(id)
            .map(Pid::from_raw)
            .map_err(|error| BackendError::new("invalid process id", error))?;
        match kill(pid, signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(BackendError::new("could not send a signal to the step", error)),
        }
    }
}

impl Running for ProcessStep {
    type Output = ChildStdout;

    async fn start(&mut self, values: &StepValues) -> Result<(ChildStdout, StepFiles)> {
        let failed = |error| BackendError::new("the step could not be started", error);
        if values.has_files() {
            self.values_folder = Some(ValuesFolder::create(&self.values_path)?);
        }
        let mut child = self.command.spawn().map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        self.child = Some(child);
        let (Some(input), Some(output)) = (input, output) else {
            return Err(BackendError::message("the step has no input or no output"));
        };
        let files = values.send(input).await?;
        Ok((output, files))
    }

    async fn wait(&mut self) -> Result<Ended> {
        use std::os::unix::process::ExitStatusExt;

        let Some(child) = &mut self.child else {
            return Err(BackendError::message("the step was not started"));
        };
        let status =
            child.wait().await.map_err(|error| BackendError::new("could not wait for the step", error))?;
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
        match tokio::time::timeout(KILL_TIMEOUT, self.wait()).await {
            Ok(ended) => ended.map(drop),
            Err(_) => {
                // The kernel kills the step's first process with its entrypoint; orphans may survive.
                self.signal(Signal::SIGKILL)?;
                self.wait().await?;
                Err(BackendError::message(
                    "the step's entrypoint did not react; some processes may still run",
                ))
            }
        }
    }

    async fn remove(mut self) -> Result<()> {
        let killed = self.kill().await;
        match self.values_folder.map(ValuesFolder::remove) {
            Some(Err(error)) => Err(error),
            _ => killed,
        }
    }
}
