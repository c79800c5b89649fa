//! A `greenroom-runner` of a scenario: it can be killed, paused, told to end, revoked, and started again.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use crate::scenarios::containers::ULIMITS;
use crate::scenarios::parts::Parts;
use crate::scenarios::program::Program;
use crate::scenarios::script::{Backend, RunnerSettings};

const END: Duration = Duration::from_secs(20);

pub(crate) struct Runner {
    pub(crate) id: String,
    name: String,
    token: String,
    /// Its work folder, its token, its log.
    folder: PathBuf,
    program: Option<Program>,
}

impl Runner {
    /// Of what the API answered when it was made.
    pub(crate) fn of(record: &Value, name: &str, folder: PathBuf) -> anyhow::Result<Self> {
        let word = |key: &str| {
            record[key].as_str().map(str::to_owned).with_context(|| format!("a runner has no {key}"))
        };
        std::fs::create_dir_all(&folder)?;
        Ok(Self { id: word("id")?, name: name.to_owned(), token: word("token")?, folder, program: None })
    }

    pub(crate) fn start(&mut self, parts: &Parts, settings: &RunnerSettings) -> anyhow::Result<()> {
        let token = self.folder.join("token");
        std::fs::write(&token, &self.token)?;
        let programs = &parts.programs;
        let backend = match settings.backend {
            Backend::Process => "process",
            Backend::Container => "container",
        };
        let host = parts.containers.as_ref().map(super::containers::Containers::host);
        let program = Program::start(&self.name, &programs.runner, self.folder.join("log"), |command| {
            command.args(["--url", parts.api.base(), "--backend", backend, "--name", &self.name]);
            command.arg("--token-file").arg(token).arg("--work-dir").arg(self.folder.join("work"));
            command.arg("--entry").arg(&programs.entry);
            command.args(["--concurrency", &settings.concurrency.to_string(), "--drain-seconds", "60"]);
            if let Some(host) = host.filter(|_| settings.backend == Backend::Container) {
                command.args(["--docker-host", &host, "--ulimit", ULIMITS]);
                command.args(["--memory-mib", "256", "--tmp-mib", "32", "--cpus", "1", "--pids", "64"]);
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
            Some(program) => program.end(END).await,
            None => Ok(()),
        }
    }

    pub(crate) fn last_words(&self) -> String {
        let said = self.program.as_ref().map(|program| program.last_lines(15)).unwrap_or_default();
        format!("--- the last words of the runner {}\n{said}", self.name)
    }

    /// What the API is told to make one.
    pub(crate) fn asked(name: &str, pool: Option<&str>) -> Value {
        json!({ "name": name, "pool": pool.unwrap_or("default") })
    }
}
