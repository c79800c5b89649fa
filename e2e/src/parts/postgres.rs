//! The campaign's own PostgreSQL, with fsync on, that can be killed and started again.

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sqlx::{Connection, PgConnection};
use tokio::process::{Child, Command};

use crate::parts::{ports, signal};

const START_TIMEOUT: Duration = Duration::from_secs(60);
const DATABASE: &str = "fault";
/// The password of every cluster. A cluster listens on 127.0.0.1 only, contains invented data and is removed at the end. The
/// name of its user is random, so that no campaign connects to the cluster of another one.
const PASSWORD: &str = "393cf674319f829e99379fc444669d2a";
/// The password as PostgreSQL stores it, by `scram_secret(PASSWORD)` in `dev/stack_parts/postgres.py`: with a single
/// iteration of the hash. With the default of 4,096, unoptimized programs would compute hashes for most of the time that
/// connecting takes.
const VERIFIER: &str = "SCRAM-SHA-256$1:TaYS6Na0XB1J0J5RK27PIA==$WAZNRkXGTqyg7HgeQ2AWTLFMIt6Uc7dz3W7HRYLtYKY=:/6Y3NOEVNkDBaTm0gU5fLSBEIta/UgvfzB6G/r3zaEw=";

pub(crate) struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    /// Arguments before the program, which make it run as a user that it accepts and end when the harness
    /// does.
    prefix: Vec<String>,
    user: String,
    port: u16,
    child: Option<Child>,
}

impl Postgres {
    /// Creates and starts a new cluster in `folder`, with an empty database.
    pub(crate) async fn make(folder: &Path) -> anyhow::Result<Self> {
        let root = std::fs::metadata("/proc/self")?.uid() == 0;
        let mut prefix: Vec<String> = vec!["setpriv".into(), "--pdeathsig=INT".into()];
        std::fs::create_dir(folder)?;
        let user = format!("greenroom_{:08x}", rand::random::<u32>());
        std::fs::write(folder.join("password"), VERIFIER)?;
        if root {
            prefix.extend(["--reuid=postgres", "--regid=postgres", "--clear-groups"].map(String::from));
            run(Command::new("chown").args(["-R", "postgres:postgres"]).arg(folder)).await?;
        }
        let port = ports::free()?;
        let folder = folder.to_owned();
        let mut own = Self { programs: programs()?, folder, prefix, user, port, child: None };
        let (data, password) = (own.folder.join("data"), own.folder.join("password"));
        let mut initdb = own.command("initdb");
        initdb.args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--username", &own.user]);
        run(initdb.arg("--pwfile").arg(password).arg("-D").arg(data).stdout(Stdio::null())).await?;
        own.start().await?;
        let mut connection = PgConnection::connect(&own.url_of(own.port, "postgres")).await?;
        sqlx::query("create database fault").execute(&mut connection).await?;
        Ok(own)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// The URL without a proxy.
    pub(crate) fn url(&self) -> String {
        self.url_through(self.port)
    }

    /// The URL through a proxy.
    pub(crate) fn url_through(&self, port: u16) -> String {
        self.url_of(port, DATABASE)
    }

    fn url_of(&self, port: u16, database: &str) -> String {
        format!("postgres://{}:{PASSWORD}@127.0.0.1:{port}/{database}", self.user)
    }

    /// Creates another, empty database. Returns its URL.
    pub(crate) async fn create_database(&self, name: &str) -> anyhow::Result<String> {
        self.copy_database("template1", name).await
    }

    /// Creates a copy of a database without connections, in place of an earlier one. Returns its URL.
    pub(crate) async fn copy_database(&self, template: &str, name: &str) -> anyhow::Result<String> {
        let mut connection = PgConnection::connect(&self.url_of(self.port, "postgres")).await?;
        for sql in [
            format!("drop database if exists {name} with (force)"),
            format!("create database {name} template {template}"),
        ] {
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await?;
        }
        Ok(self.url_of(self.port, name))
    }

    /// Runs one of PostgreSQL's client programs, as this user.
    pub(crate) async fn client(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let beside = self.programs.join(program);
        let program = if beside.exists() { beside } else { program.into() };
        run(Command::new(program).args(arguments).stdin(Stdio::null())).await
    }

    /// Starts it and waits until it responds.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            // After SIGKILL, remains of the old instance may need a moment to end; until then a new one fails
            // to start.
            let running =
                self.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|end| end.is_none()));
            if !running {
                self.child = Some(self.spawn()?);
            }
            if PgConnection::connect(&self.url_of(self.port, "postgres")).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("PostgreSQL did not respond within {START_TIMEOUT:?}; its log is in {}", self.folder.display())
    }

    fn spawn(&self) -> anyhow::Result<Child> {
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.folder.join("data")).arg("-p").arg(self.port.to_string());
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=400",
            "fsync=on",
            "synchronous_commit=on",
            // In its own folder, which is removed with it.
            "dynamic_shared_memory_type=mmap",
        ] {
            command.args(["-c", setting]);
        }
        Ok(command.stderr(log).kill_on_drop(true).spawn()?)
    }

    /// Stops it in fast mode: clients are disconnected, and the shutdown is clean.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            signal::send("INT", signal::pid(&child)?).await?;
            child.wait().await?;
        }
        Ok(())
    }

    /// Sends `STOP` or `CONT` to all of its processes.
    pub(crate) async fn signal(&self, name: &str) -> anyhow::Result<()> {
        let Some(child) = &self.child else { return Ok(()) };
        let postmaster = signal::pid(child)?;
        signal::send(name, postmaster).await?;
        for pid in signal::children(postmaster).await {
            // The process may have ended.
            let _ = signal::send(name, pid).await;
        }
        Ok(())
    }

    /// Sends SIGKILL to the postmaster and all of its children.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            let started = signal::children(signal::pid(&child)?).await;
            child.kill().await?;
            for pid in started {
                // The process may have noticed and ended.
                let _ = signal::send("KILL", pid).await;
            }
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut arguments = self.prefix.iter();
        let mut command = Command::new(arguments.next().map_or("setpriv", String::as_str));
        // Runs in its own folder, because that user may have no access to the harness's.
        command.args(arguments).arg(self.programs.join(program)).current_dir("/").stdin(Stdio::null());
        command
    }
}

async fn run(command: &mut Command) -> anyhow::Result<()> {
    if !command.status().await.with_context(|| format!("{command:?}"))?.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}

/// Returns the program folder of the newest installation.
fn programs() -> anyhow::Result<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|version| version.path().join("bin")).collect();
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    folders.sort();
    let has_all = |folder: &PathBuf| folder.join("postgres").exists() && folder.join("initdb").exists();
    folders.into_iter().rev().find(has_all).context("PostgreSQL is needed: postgres and initdb")
}
