//! A `greenroom-runner` that can be killed, paused, terminated, revoked, and started again with its token and
//! its folder.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::parts::containers::ULIMITS;
use crate::parts::program::Program;
use crate::parts::programs::Programs;

const END_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Runner {
    pub(crate) id: String,
    pub(crate) name: String,
    token: String,
    /// Its work folder, its token, its log.
    folder: PathBuf,
    /// A certificate that its git trusts.
    trusted: Option<PathBuf>,
    step_limits: StepLimits,
    program: Option<Program>,
}

/// What a step in a container may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepLimits {
    pub(crate) memory_mib: u32,
    pub(crate) tmp_mib: u32,
    pub(crate) cpus: u32,
    pub(crate) pids: u32,
}

impl Default for StepLimits {
    fn default() -> Self {
        Self { memory_mib: 256, tmp_mib: 32, cpus: 1, pids: 64 }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Backend {
    #[default]
    Process,
    Container,
}

/// The settings of one run of the process: its program, the URLs of the server and the container engine, and
/// its concurrency.
pub(crate) struct RunnerLaunch<'a> {
    pub(crate) programs: &'a Programs,
    /// The URL with `/api/v1`.
    pub(crate) url: &'a str,
    pub(crate) docker_host: Option<String>,
    pub(crate) backend: Backend,
    pub(crate) concurrency: u32,
    /// How much it logs, such as `info`.
    pub(crate) log_level: &'a str,
}

impl Runner {
    /// Creates it from the API's response to its creation.
    pub(crate) fn of(record: &Value, name: &str, folder: PathBuf) -> anyhow::Result<Self> {
        let text_field = |key: &str| {
            record[key].as_str().map(str::to_owned).with_context(|| format!("a runner has no {key}"))
        };
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            id: text_field("id")?,
            name: name.to_owned(),
            token: text_field("token")?,
            folder,
            trusted: None,
            step_limits: StepLimits::default(),
            program: None,
        })
    }

    /// Makes its git trust servers with this certificate, and no others.
    pub(crate) fn trust(&mut self, certificate: PathBuf) {
        self.trusted = Some(certificate);
    }

    /// Applies from the next start on.
    pub(crate) const fn set_step_limits(&mut self, limits: StepLimits) {
        self.step_limits = limits;
    }

    pub(crate) fn start(&mut self, launch: &RunnerLaunch<'_>) -> anyhow::Result<()> {
        let token = self.folder.join("token");
        std::fs::write(&token, &self.token)?;
        let backend = match launch.backend {
            Backend::Process => "process",
            Backend::Container => "container",
        };
        let program = Program::start(&self.name, &launch.programs.runner, self.log(), |command| {
            command.args(["--url", launch.url, "--backend", backend, "--name", &self.name]);
            command.arg("--token-file").arg(token).arg("--work-dir").arg(self.work_folder());
            command.arg("--entry").arg(&launch.programs.entry);
            // The repositories of the scenarios and campaigns are served on this machine.
            command.args(["--checkout-allow", "127.0.0.0/8"]);
            command.args(["--log", launch.log_level]);
            command.args(["--concurrency", &launch.concurrency.to_string(), "--drain-seconds", "60"]);
            if let Some(certificate) = &self.trusted {
                command.env("GIT_SSL_CAINFO", certificate);
            }
            if let Some(host) = launch.docker_host.as_ref().filter(|_| launch.backend == Backend::Container) {
                command.args(["--docker-host", host, "--ulimit", ULIMITS]);
                let StepLimits { memory_mib, tmp_mib, cpus, pids } = self.step_limits;
                let limits =
                    [("memory-mib", memory_mib), ("tmp-mib", tmp_mib), ("cpus", cpus), ("pids", pids)];
                for (name, limit) in limits {
                    command.arg(format!("--{name}={limit}"));
                }
            }
        })?;
        self.program = Some(program);
        Ok(())
    }

    pub(crate) fn program(&mut self) -> anyhow::Result<&mut Program> {
        let name = &self.name;
        self.program.as_mut().with_context(|| format!("the runner `{name}` does not run"))
    }

    pub(crate) async fn end(&mut self) -> anyhow::Result<()> {
        match &mut self.program {
            Some(program) => program.end(END_TIMEOUT).await,
            None => Ok(()),
        }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Where it keeps checkouts and the files of steps.
    pub(crate) fn work_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Returns the workspaces of its running jobs.
    pub(crate) fn workspaces(&self) -> Vec<PathBuf> {
        let jobs = std::fs::read_dir(self.work_folder().join("jobs")).into_iter().flatten().flatten();
        jobs.map(|job| job.path().join("workspace")).filter(|path| path.is_dir()).collect()
    }

    pub(crate) fn last_log_lines(&self) -> String {
        let lines = self.program.as_ref().map(|program| program.last_lines(15)).unwrap_or_default();
        format!("--- the last log lines of the runner {}\n{lines}", self.name)
    }

    /// The body of the API request that creates a runner.
    pub(crate) fn creation_body(name: &str, pool: Option<&str>) -> Value {
        json!({ "name": name, "pool": pool.unwrap_or("default") })
    }
}
