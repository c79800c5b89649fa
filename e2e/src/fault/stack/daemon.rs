//! A `greenroomd` that can be killed, paused and given another clock, with its own network proxy to
//! PostgreSQL.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::process::{Child, Command};

use crate::parts::proxy::Proxy;
use crate::parts::{ports, signal};

const START_TIMEOUT: Duration = Duration::from_secs(30);
const FAKE_CLOCK_PATHS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Worker,
}

/// The settings that all daemons of a campaign share.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) logs: PathBuf,
    /// The name of a planted bug.
    pub(crate) planted: Option<String>,
}

pub(crate) struct Daemon {
    role: Role,
    pub(crate) name: String,
    program: Program,
    database_url: String,
    pub(crate) proxy: Proxy,
    port: u16,
    metrics_port: u16,
    child: Option<Child>,
}

impl Daemon {
    pub(crate) fn new(
        (role, name): (Role, String),
        program: &Program,
        database_url: String,
        proxy: Proxy,
    ) -> anyhow::Result<Self> {
        let (port, metrics_port, program) = (ports::free()?, ports::free()?, program.clone());
        Ok(Self { role, name, program, database_url, proxy, port, metrics_port, child: None })
    }

    /// The API's URL; only a server has one.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1", self.port)
    }

    /// Starts it with a clock that is wrong by this many seconds.
    pub(crate) fn start(&mut self, offset: i64) -> anyhow::Result<()> {
        let log = self.log();
        let log = std::fs::File::options().create(true).append(true).open(&log)?;
        // The process ends with the harness, however that ends.
        let mut command = Command::new("setpriv");
        command.arg("--pdeathsig=KILL").arg(&self.program.path);
        let metrics = format!("127.0.0.1:{}", self.metrics_port);
        match self.role {
            Role::Server => command.args(["serve", "--listen", &format!("127.0.0.1:{}", self.port)]),
            Role::Worker => command.arg("worker"),
        };
        command
            .args(["--metrics-listen", &metrics])
            .env("GREENROOM_DATABASE_URL", &self.database_url)
            .env("GREENROOM_LOG", "warn")
            // Enough for the clients, and not more connections than a small machine can open within their
            // timeout.
            .env("GREENROOM_DATABASE_CONNECTIONS", "8")
            .env("LD_PRELOAD", fake_clock()?)
            .env("FAKETIME", format!("{offset:+}s"))
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        if let Some(planted) = &self.program.planted {
            command.env("GREENROOM_PLANTED", planted);
        }
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        self.child = Some(child.spawn()?);
        Ok(())
    }

    /// Waits until it reports that it is ready.
    pub(crate) async fn ready(&self, http: &reqwest::Client) -> anyhow::Result<()> {
        let (url, started) = (format!("http://127.0.0.1:{}/readyz", self.metrics_port), Instant::now());
        while started.elapsed() < START_TIMEOUT {
            if http.get(&url).send().await.is_ok_and(|response| response.status() == 200) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("{} was not ready after {START_TIMEOUT:?}; see {}", self.name, self.log().display())
    }

    pub(crate) async fn signal(&self, signal: &str) -> anyhow::Result<()> {
        signal::send(signal, signal::pid(self.child.as_ref().context("not started")?)?).await
    }

    /// Sends SIGKILL.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        self.remove_clock_files();
        match self.child.take() {
            Some(mut child) => Ok(child.kill().await?),
            None => Ok(()),
        }
    }

    /// Removes the shared memory that the fake-clock library would leave behind when the process is killed.
    fn remove_clock_files(&self) {
        if let Some(pid) = self.child.as_ref().and_then(Child::id) {
            let _ = std::fs::remove_file(format!("/dev/shm/faketime_shm_{pid}"));
            let _ = std::fs::remove_file(format!("/dev/shm/sem.faketime_sem_{pid}"));
        }
    }

    /// Returns whether it has ended although the harness did not stop it.
    pub(crate) fn has_died(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.program.logs.join(format!("{}.log", self.name))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.remove_clock_files();
    }
}

fn fake_clock() -> anyhow::Result<&'static str> {
    FAKE_CLOCK_PATHS
        .into_iter()
        .find(|path| Path::new(path).exists())
        .context("libfaketime is needed: apt-get install faketime")
}
