//! A server or a worker of the product, that can be killed and started again on the same port.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::parts::ports;
use crate::parts::program::Program;

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
    pub(crate) fn new<Name: Into<String>>(
        role: &'static str,
        program: PathBuf,
        log: PathBuf,
        variables: Vec<(Name, String)>,
    ) -> anyhow::Result<Self> {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value)).collect();
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

    /// What its operators' port shows.
    pub(crate) async fn metrics(&self) -> anyhow::Result<String> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        Ok(http.get(url).send().await?.error_for_status()?.text().await?)
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.running.as_ref().with_context(|| format!("{} does not run", self.role))?.pid()
    }

    /// kill -9.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        match self.running.take() {
            Some(mut program) => program.kill().await,
            None => Ok(()),
        }
    }

    pub(crate) async fn signal(&self, word: &str) -> anyhow::Result<()> {
        match &self.running {
            Some(program) => program.signal(word).await,
            None => Ok(()),
        }
    }

    /// Whether it has ended without being asked to.
    pub(crate) fn has_died(&mut self) -> bool {
        self.running.as_mut().is_some_and(|program| !matches!(program.end_seen(), Ok(None)))
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
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
