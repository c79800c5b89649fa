//! A program of ours that runs as a process: its words go into a file, and it ends with the harness, however that ends.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::process::{Child, Command};

use crate::parts::signal;

const START: Duration = Duration::from_secs(60);

pub(crate) struct Program {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Program {
    /// `say` gives it its arguments and variables.
    pub(crate) fn start(
        name: &str,
        program: &Path,
        log: PathBuf,
        say: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Self> {
        let file = std::fs::File::options().create(true).append(true).open(&log)?;
        let mut command = Command::new("setpriv");
        command.arg("--pdeathsig=KILL").arg(program);
        // What the user has set for a Greenroom of their own is not meant for this one.
        for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("GREENROOM_"))
        {
            command.env_remove(key);
        }
        say(&mut command);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("{name} can't be started"))?;
        Ok(Self { name: name.to_owned(), log, child })
    }

    /// Waits until an address of it answers 200.
    pub(crate) async fn ready(&mut self, url: &str) -> anyhow::Result<()> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build()?;
        let started = Instant::now();
        while started.elapsed() < START {
            if http.get(url).send().await.is_ok_and(|answer| answer.status() == 200) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended while starting ({status}):\n{}", self.name, self.last_lines(20));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("{} was not ready after {START:?}:\n{}", self.name, self.last_lines(20))
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        signal::pid(&self.child)
    }

    pub(crate) async fn signal(&self, word: &str) -> anyhow::Result<()> {
        signal::send(word, self.pid()?).await
    }

    /// How it ended, if it has.
    pub(crate) fn end_seen(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// kill -9.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Asks it to end, again after half of the time, and kills it after the rest.
    pub(crate) async fn end(&mut self, within: Duration) -> anyhow::Result<()> {
        if self.end_seen()?.is_some() {
            return Ok(());
        }
        // A paused one hears nothing.
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

    /// The last lines of its log that have one of these words in them.
    pub(crate) fn lines_with(&self, words: &[&str], count: usize) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> =
            text.lines().filter(|line| words.iter().any(|word| line.contains(word))).collect();
        lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
    }
}
