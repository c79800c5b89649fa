//! The system under test: PostgreSQL, servers and workers as real processes, each with its own network and
//! its own clock.

pub(crate) mod daemon;

use std::time::Duration;

use serde_json::Value;

use crate::fault::options::Locks;
use crate::fault::stack::daemon::{Daemon, Program, Role};
use crate::parts::folder::Folder;
use crate::parts::postgres::Postgres;
use crate::parts::programs::{admin, admin_json};
use crate::parts::proxy::Proxy;

pub(crate) struct Stack {
    pub(crate) folder: Folder,
    pub(crate) postgres: Postgres,
    pub(crate) servers: Vec<Daemon>,
    pub(crate) workers: Vec<Daemon>,
    program: Program,
    pub(crate) http: reqwest::Client,
}

impl Stack {
    pub(crate) async fn start(options: &Locks) -> anyhow::Result<Self> {
        let folder = Folder::make("fault", options.keep)?;
        let postgres = Postgres::make(&folder.path.join("postgres")).await?;
        let path = match &options.daemon {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("greenroomd"),
        };
        let program = Program { path, logs: folder.path.join("logs"), planted: options.planted.clone() };
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let (servers, workers) = (Vec::new(), Vec::new());
        let mut stack = Self { folder, postgres, servers, workers, program, http };
        admin(&stack.program.path, &stack.postgres.url(), &["migrate", "up"]).await?;
        for (role, count) in [(Role::Server, options.servers), (Role::Worker, options.workers)] {
            for number in 1..=count {
                let proxy = Proxy::start(vec![stack.postgres.address()]).await?;
                let prefix = if role == Role::Server { "server" } else { "worker" };
                let url = stack.postgres.url_through(proxy.port);
                let name = format!("{prefix}-{number}");
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

    /// The path of the daemon's program, which is the operator's program too.
    pub(crate) fn program(&self) -> &std::path::Path {
        &self.program.path
    }

    /// Runs an operator's command directly on the database and returns its output.
    pub(crate) async fn admin_json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        admin_json(&self.program.path, &self.postgres.url(), arguments).await
    }

    pub(crate) fn daemons(&mut self) -> impl Iterator<Item = &mut Daemon> {
        self.servers.iter_mut().chain(&mut self.workers)
    }

    /// Stops everything. The folder is removed when its last user is dropped.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        for daemon in self.servers.iter_mut().chain(&mut self.workers) {
            daemon.kill().await?;
        }
        self.postgres.stop().await
    }
}
