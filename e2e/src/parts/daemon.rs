//! A server or a worker of the product that can be killed and started again on the same port.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::parts::ports;
use crate::parts::program::Program;

const END_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Daemon {
    /// `serve` or `worker`.
    role: &'static str,
    program: PathBuf,
    log: PathBuf,
    variables: Vec<(String, String)>,
    metrics: u16,
    running: Option<Program>,
    /// Whether it was started without one of its variables.
    lacks_variable: bool,
}

impl Daemon {
    /// Creates the daemon without starting it.
    pub(crate) fn new<Name: Into<String>>(
        role: &'static str,
        program: PathBuf,
        log: PathBuf,
        variables: Vec<(Name, String)>,
    ) -> anyhow::Result<Self> {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Ok(Self {
            role,
            program,
            log,
            variables,
            metrics: ports::free()?,
            running: None,
            lacks_variable: false,
        })
    }

    /// Creates another daemon with the same settings, without starting it.
    pub(crate) fn another(&self, log: PathBuf) -> anyhow::Result<Self> {
        Self::new(self.role, self.program.clone(), log, self.variables.clone())
    }

    /// Starts it, unless it runs.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        self.start_without("")
    }

    /// Starts it without one of its variables, unless it runs.
    pub(crate) fn start_without(&mut self, variable: &str) -> anyhow::Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let program = Program::start(self.role, &self.program, self.log.clone(), |command| {
            command.arg(self.role).args(["--metrics-listen", &format!("127.0.0.1:{}", self.metrics)]);
            let variables = self.variables.iter().filter(|(name, _)| name != variable);
            command.envs(variables.map(|(name, value)| (name, value)));
        })?;
        self.running = Some(program);
        self.lacks_variable = !variable.is_empty();
        Ok(())
    }

    pub(crate) const fn lacks_variable(&self) -> bool {
        self.lacks_variable
    }

    /// Ends it, as an operator does, and starts another program in its place.
    pub(crate) async fn replace(&mut self, program: PathBuf) -> anyhow::Result<()> {
        self.end().await?;
        self.program = program;
        self.start()?;
        self.ready().await
    }

    /// Waits until it is ready: it reaches everything it depends on.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<()> {
        let url = format!("http://127.0.0.1:{}/readyz", self.metrics);
        match &mut self.running {
            Some(program) => program.ready(&url).await,
            None => Ok(()),
        }
    }

    /// Returns the metrics from its operators' port.
    pub(crate) async fn metrics(&self) -> anyhow::Result<String> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        Ok(http.get(url).send().await?.error_for_status()?.text().await?)
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.running.as_ref().with_context(|| format!("{} does not run", self.role))?.pid()
    }

    /// Sends SIGKILL.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        match self.running.take() {
            Some(mut program) => program.kill().await,
            None => Ok(()),
        }
    }

    pub(crate) async fn signal(&self, name: &str) -> anyhow::Result<()> {
        match &self.running {
            Some(program) => program.signal(name).await,
            None => Ok(()),
        }
    }

    /// Returns whether it has ended although the harness did not stop it.
    pub(crate) fn has_died(&mut self) -> bool {
        self.running.as_mut().is_some_and(|program| !matches!(program.exit_status(), Ok(None)))
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    pub(crate) async fn end(&mut self) -> anyhow::Result<()> {
        match self.running.take() {
            Some(mut program) => program.end(END_TIMEOUT).await,
            None => Ok(()),
        }
    }

    /// Returns its last warnings and errors.
    pub(crate) fn recent_errors(&self) -> String {
        let lines =
            self.running.as_ref().map(|program| program.lines_with(&[" WARN ", " ERROR ", "panicked"], 25));
        lines.unwrap_or_default()
    }
}
