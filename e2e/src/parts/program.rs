//! A program of the product that runs as a process: its output is written to a file, and it ends with the
//! harness, however that ends.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::process::{Child, Command};

use crate::parts::signal;

const START_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Program {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Program {
    /// `configure` sets its arguments and variables.
    pub(crate) fn start(
        name: &str,
        program: &Path,
        log: PathBuf,
        configure: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Self> {
        let file = std::fs::File::options().create(true).append(true).open(&log)?;
        let mut command = Command::new("setpriv");
        command.arg("--pdeathsig=KILL").arg(program);
        // The user's settings for another Greenroom must not affect this one.
        for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("GREENROOM_"))
        {
            command.env_remove(key);
        }
        configure(&mut command);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("{name} can't be started"))?;
        Ok(Self { name: name.to_owned(), log, child })
    }

    /// Waits until one of its addresses responds with 200.
    pub(crate) async fn ready(&mut self, url: &str) -> anyhow::Result<()> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build()?;
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            if http.get(url).send().await.is_ok_and(|response| response.status() == 200) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended while starting ({status}):\n{}", self.name, self.last_lines(20));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("{} was not ready after {START_TIMEOUT:?}:\n{}", self.name, self.last_lines(20))
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        signal::pid(&self.child)
    }

    pub(crate) async fn signal(&self, name: &str) -> anyhow::Result<()> {
        signal::send(name, self.pid()?).await
    }

    /// Returns its exit status if it has ended.
    pub(crate) fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends SIGKILL.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Sends SIGTERM, again after half of the time, and SIGKILL after the rest.
    pub(crate) async fn end(&mut self, within: Duration) -> anyhow::Result<()> {
        if self.exit_status()?.is_some() {
            return Ok(());
        }
        // A paused process does not receive the signal.
        for _ in 0..2 {
            let _ = (self.signal("TERM").await, self.signal("CONT").await);
            if tokio::time::timeout(within / 2, self.child.wait()).await.is_ok() {
                return Ok(());
            }
        }
        self.kill().await
    }

    pub(crate) fn last_lines(&self, count: usize) -> String {
        self.lines_with(&[""], count)
    }

    /// Returns the last `count` of those lines of the program's log that contain any of the patterns.
    pub(crate) fn lines_with(&self, patterns: &[&str], count: usize) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> =
            text.lines().filter(|line| patterns.iter().any(|pattern| line.contains(pattern))).collect();
        lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
    }
}
