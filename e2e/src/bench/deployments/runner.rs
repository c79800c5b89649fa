//! A runner that is measured, or that a measurement needs.

use std::path::PathBuf;
use std::time::Duration;

use super::podman::Limits;
use crate::parts::containers::{Containers, ULIMITS};
use crate::parts::program::Program;
use crate::parts::programs::Programs;

const END: Duration = Duration::from_secs(20);

/// How a runner runs its steps.
pub(crate) enum Kind<'a> {
    /// Steps are not run.
    Dummy,
    /// Steps are processes on this machine.
    Process,
    Container(&'a Containers),
}

pub(crate) struct Runner {
    program: Program,
}

impl Runner {
    pub(crate) fn start(
        name: &str,
        folder: PathBuf,
        (programs, url): (&Programs, &str),
        token: &str,
        kind: Kind<'_>,
        concurrency: usize,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        let token_file = folder.join("token");
        std::fs::write(&token_file, token)?;
        let program = Program::start(name, &programs.runner, folder.join("log"), |command| {
            command.args(["--url", url, "--name", name, "--concurrency", &concurrency.to_string()]);
            command.arg("--token-file").arg(token_file).arg("--work-dir").arg(folder.join("work"));
            command.arg("--entry").arg(&programs.entry).args(["--drain-seconds", "5"]);
            match kind {
                Kind::Dummy => command.args(["--backend", "dummy"]),
                Kind::Process => command.args(["--backend", "process"]),
                Kind::Container(containers) => {
                    command.args(["--backend", "container", "--docker-host", &containers.host()]);
                    command.args(["--ulimit", ULIMITS]).args(Limits::of_the_runner())
                }
            };
        })?;
        Ok(Self { program })
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.program.pid()
    }

    pub(crate) async fn end(&mut self) -> anyhow::Result<()> {
        self.program.end(END).await
    }
}
