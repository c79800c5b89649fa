//! The system under test: PostgreSQL, servers and workers as real processes, each with its own network and its own clock.

pub(crate) mod daemon;
pub(crate) mod postgres;
pub(crate) mod proxy;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

use crate::fault::options::Locks;
use crate::fault::stack::daemon::{Daemon, Program, Role};
use crate::fault::stack::postgres::Postgres;
use crate::fault::stack::proxy::Proxy;

pub(crate) struct Stack {
    pub(crate) folder: Folder,
    pub(crate) postgres: Postgres,
    pub(crate) servers: Vec<Daemon>,
    pub(crate) workers: Vec<Daemon>,
    program: Program,
    pub(crate) http: reqwest::Client,
}

/// Where everything of a campaign is. Removed at the end, unless it is to be kept.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    keep: bool,
}

impl Folder {
    fn make(keep: bool) -> anyhow::Result<Self> {
        let name = format!("fault-{}-{:06x}", std::process::id(), rand::random_range(0..0x100_0000));
        let path = std::env::current_dir()?.join(".stack").join(name);
        std::fs::create_dir_all(path.join("logs"))?;
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

impl Stack {
    pub(crate) async fn start(options: &Locks) -> anyhow::Result<Self> {
        let folder = Folder::make(options.keep)?;
        let postgres = Postgres::make(&folder.path.join("postgres")).await?;
        let path = match &options.daemon {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("greenroomd"),
        };
        let program = Program { path, logs: folder.path.join("logs"), planted: options.planted.clone() };
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let (servers, workers) = (Vec::new(), Vec::new());
        let mut stack = Self { folder, postgres, servers, workers, program, http };
        stack.admin(&["migrate", "up"]).await?;
        for (role, count) in [(Role::Server, options.servers), (Role::Worker, options.workers)] {
            for number in 1..=count {
                let proxy = Proxy::start(stack.postgres.address()).await?;
                let word = if role == Role::Server { "server" } else { "worker" };
                let url = stack.postgres.url_by(proxy.port);
                let name = format!("{word}-{number}");
                let mut daemon = Daemon::new((role, name), &stack.program, url, proxy)?;
                daemon.start(if number % 2 == 1 { 60 } else { -60 })?;
                if role == Role::Server { &mut stack.servers } else { &mut stack.workers }.push(daemon);
            }
        }
        for daemon in stack.servers.iter().chain(&stack.workers) {
            daemon.ready(&stack.http).await?;
        }
        Ok(stack)
    }

    /// An operator's command, straight on the database. Its answer.
    pub(crate) async fn admin(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program.path);
        command
            .args(arguments)
            .env("GREENROOM_DATABASE_URL", self.postgres.url())
            .env("GREENROOM_LOG", "warn");
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().await?;
        if !output.status.success() {
            bail!("greenroomd {} failed", arguments.join(" "));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    pub(crate) async fn admin_json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        serde_json::from_str(&self.admin(arguments).await?)
            .with_context(|| format!("greenroomd {} said no JSON", arguments.join(" ")))
    }

    pub(crate) fn daemons(&mut self) -> impl Iterator<Item = &mut Daemon> {
        self.servers.iter_mut().chain(&mut self.workers)
    }

    /// Ends everything; the folder goes with the last of it.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        for daemon in self.servers.iter_mut().chain(&mut self.workers) {
            daemon.kill().await?;
        }
        self.postgres.stop().await
    }
}
