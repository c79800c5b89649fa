//! A server or a worker of the product, that can be killed and started again on the same port.

use std::path::PathBuf;
use std::time::Duration;

use crate::ports;
use crate::scenarios::program::Program;

const END: Duration = Duration::from_secs(20);

pub(crate) struct Daemon {
    /// `serve` or `worker`.
    role: &'static str,
    program: PathBuf,
    log: PathBuf,
    variables: Vec<(String, String)>,
    metrics: u16,
    running: Option<Program>,
}

impl Daemon {
    /// Not started yet.
    pub(crate) fn new(
        role: &'static str,
        program: PathBuf,
        log: PathBuf,
        variables: Vec<(String, String)>,
    ) -> anyhow::Result<Self> {
        Ok(Self { role, program, log, variables, metrics: ports::free()?, running: None })
    }

    /// Starts it, unless it runs.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let program = Program::start(self.role, &self.program, self.log.clone(), |command| {
            command.arg(self.role).args(["--metrics-listen", &format!("127.0.0.1:{}", self.metrics)]);
            command.envs(self.variables.iter().map(|(key, value)| (key, value)));
        })?;
        self.running = Some(program);
        Ok(())
    }

    /// Waits until it can do its work: it reaches what it needs.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<()> {
        let url = format!("http://127.0.0.1:{}/readyz", self.metrics);
        match &mut self.running {
            Some(program) => program.ready(&url).await,
            None => Ok(()),
        }
    }

    /// kill -9.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        match self.running.take() {
            Some(mut program) => program.kill().await,
            None => Ok(()),
        }
    }

    pub(crate) async fn end(&mut self) -> anyhow::Result<()> {
        match self.running.take() {
            Some(mut program) => program.end(END).await,
            None => Ok(()),
        }
    }

    /// What it complained of last.
    pub(crate) fn complaints(&self) -> String {
        let words =
            self.running.as_ref().map(|program| program.lines_with(&[" WARN ", " ERROR ", "panicked"], 25));
        words.unwrap_or_default()
    }
}
