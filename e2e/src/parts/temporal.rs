//! Temporal's development server with its own database file, that can be killed, paused and started again
//! with its state.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use tokio::process::Command;

use crate::parts::ports;
use crate::parts::program::Program;

/// Without these three settings each dispatch waits for a 50 ms tick.
const DYNAMIC_CONFIG: [&str; 3] = [
    "history.transferProcessorMaxPollRPS=1000",
    "history.timerProcessorMaxPollRPS=1000",
    "history.visibilityProcessorMaxPollRPS=200",
];

pub(crate) struct Temporal {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
    http_port: u16,
    metrics_port: u16,
    running: Option<Program>,
}

impl Temporal {
    /// Creates it without starting it. Its file and its log will be in `folder`.
    pub(crate) fn new(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let (port, http_port, metrics_port) = (ports::free()?, ports::free()?, ports::free()?);
        let folder = folder.to_owned();
        Ok(Self { program: program()?, folder, port, http_port, metrics_port, running: None })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let log = self.folder.join("log");
        let program = Program::start("temporal", &self.program, log, |command| {
            command.args(["server", "start-dev", "--ip", "127.0.0.1", "--headless", "--log-level", "error"]);
            for (flag, port) in [
                ("--port", self.port),
                ("--http-port", self.http_port),
                ("--metrics-port", self.metrics_port),
            ] {
                command.args([flag, &port.to_string()]);
            }
            command.arg("--db-filename").arg(self.folder.join("temporal.db"));
            // Acknowledged writes must survive SIGKILL.
            command.args(["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"]);
            for value in DYNAMIC_CONFIG {
                command.args(["--dynamic-config-value", value]);
            }
        })?;
        self.running = Some(program);
        Ok(())
    }

    /// Its HTTP port uses the same frontend as gRPC, and the namespace is created last.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<()> {
        let url = format!("http://127.0.0.1:{}/api/v1/namespaces/default", self.http_port);
        self.running()?.ready(&url).await
    }

    /// Runs a command of Temporal's own client.
    pub(crate) fn cli(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).args(["--address", &self.address().to_string()]);
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    pub(crate) async fn signal(&mut self, name: &str) -> anyhow::Result<()> {
        self.running()?.signal(name).await
    }

    /// Sends SIGKILL.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        match self.running.take() {
            Some(mut program) => program.kill().await,
            None => Ok(()),
        }
    }

    fn running(&mut self) -> anyhow::Result<&mut Program> {
        self.running.as_mut().context("Temporal does not run")
    }
}

/// Returns the program that `dev/stack install` has installed, or the one in the path.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_dir()?.join(".stack/.tools/venv/bin");
    let mut folders = vec![own];
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let found = folders.into_iter().map(|folder| folder.join("temporal")).find(|program| program.is_file());
    found.context("Temporal is needed: dev/stack install")
}
