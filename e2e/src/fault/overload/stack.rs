//! The system under test: PostgreSQL, Temporal, a server, a worker, and the victim's runner behind a relay
//! that records its requests.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::Value;

use crate::fault::overload::options::Overload;
use crate::parts::daemon::Daemon;
use crate::parts::folder::Folder;
use crate::parts::ports;
use crate::parts::postgres::Postgres;
use crate::parts::programs::{Programs, admin, admin_json};
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::parts::temporal::Temporal;

/// Shorter than the default of 60, so that a job whose heartbeats fail is lost while the campaign watches.
const JOB_LEASE_SECONDS: u64 = 12;
const RUNNER_CONCURRENCY: u32 = 6;

/// Whether the server protects one organization from another's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limits {
    /// The product's defaults.
    Default,
    /// Off: the control.
    Off,
}

/// Turns off the limits per token, organization and address.
const LIMITS_OFF: (&str, &str) = ("GREENROOM_LIMITS", "off");
/// Limits that all organizations share are the same in the control: otherwise the attack's polls would
/// exhaust them.
const MAX_WAITING: &str = "1000";

pub(crate) struct Stack {
    pub(crate) server: Daemon,
    worker: Daemon,
    runner: Option<Runner>,
    temporal: Temporal,
    postgres: Postgres,
    programs: Programs,
    port: u16,
    pub(crate) folder: Folder,
}

impl Stack {
    pub(crate) async fn start(options: &Overload) -> anyhow::Result<Self> {
        let programs = Programs::find(options.bin_dir.as_deref(), None, options.entry.as_deref())?;
        let folder = Folder::make("fault-overload", options.keep)?;
        std::fs::create_dir_all(folder.path.join("objects"))?;
        let mut temporal = Temporal::new(&folder.path.join("temporal"))?;
        temporal.start()?;
        let postgres = Postgres::make(&folder.path.join("postgres")).await?;
        admin(&programs.daemon, &postgres.url(), &["migrate", "up"]).await?;
        temporal.ready().await?;
        let port = ports::free()?;
        let log = |name: &str| folder.path.join("logs").join(format!("{name}.log"));
        let variables = vec![
            ("GREENROOM_DATABASE_URL", postgres.url()),
            ("GREENROOM_TEMPORAL_ADDRESS", temporal.address().to_string()),
            ("GREENROOM_OBJECTS", format!("file://{}", folder.path.join("objects").display())),
        ];
        let worker = Daemon::new("worker", programs.daemon.clone(), log("worker"), variables)?;
        let server =
            Daemon::new("serve", programs.daemon.clone(), log("server"), Vec::<(&str, String)>::new())?;
        let runner = None;
        let mut stack = Self { server, worker, runner, temporal, postgres, programs, port, folder };
        stack.worker.start()?;
        let limits = if options.without_limits { Limits::Off } else { Limits::Default };
        stack.start_server(limits).await?;
        stack.worker.ready().await?;
        Ok(stack)
    }

    /// Starts the server, after ending the one that runs.
    pub(crate) async fn start_server(&mut self, limits: Limits) -> anyhow::Result<()> {
        self.server.kill().await?;
        let mut variables = vec![
            ("GREENROOM_DATABASE_URL", self.postgres.url()),
            ("GREENROOM_TEMPORAL_ADDRESS", self.temporal.address().to_string()),
            ("GREENROOM_LISTEN", self.address().to_string()),
            ("GREENROOM_OBJECTS", format!("file://{}", self.folder.path.join("objects").display())),
            ("GREENROOM_JOB_LEASE_SECONDS", JOB_LEASE_SECONDS.to_string()),
            ("GREENROOM_MAX_WAITING", MAX_WAITING.to_owned()),
        ];
        if limits == Limits::Off {
            variables.push((LIMITS_OFF.0, LIMITS_OFF.1.to_owned()));
        }
        let name = if limits == Limits::Off { "server-without-limits" } else { "server" };
        let log = self.folder.path.join("logs").join(format!("{name}.log"));
        self.server = Daemon::new("serve", self.programs.daemon.clone(), log, variables)?;
        self.server.start()?;
        self.server.ready().await
    }

    /// Starts the victim's runner with the API's response to its creation.
    pub(crate) fn start_runner(&mut self, record: &Value, url: &str) -> anyhow::Result<()> {
        let mut runner = Runner::of(record, "victim", self.folder.path.join("runner"))?;
        let (programs, concurrency) = (&self.programs, RUNNER_CONCURRENCY);
        runner.start(&RunnerLaunch {
            programs,
            url,
            docker_host: None,
            backend: Backend::Process,
            concurrency,
            log_level: "info",
        })?;
        self.runner = Some(runner);
        Ok(())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// The URL with `/api/v1`.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/api/v1", self.address())
    }

    /// Runs an operator's command and returns what it printed.
    pub(crate) async fn admin_json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        admin_json(&self.programs.daemon, &self.postgres.url(), arguments).await
    }

    /// Creates an organization and returns its owner's token.
    pub(crate) async fn make_organization(&self, slug: &str) -> anyhow::Result<String> {
        let email = format!("owner@{slug}.test");
        let arguments =
            ["admin", "bootstrap", "--slug", slug, "--owner-email", &email, "--owner-name", "Owner"];
        let made = self.admin_json(&arguments).await?;
        made["token"].as_str().map(str::to_owned).context("an organization without a token")
    }

    /// Returns daemons and runners that have ended although the harness did not stop them, and their panics.
    pub(crate) fn failures(&mut self) -> Vec<String> {
        let mut failures = Vec::new();
        for (name, daemon) in [("server", &mut self.server), ("worker", &mut self.worker)] {
            if daemon.has_died() {
                failures.push(format!("the {name} has ended"));
            }
        }
        let mut logs: Vec<PathBuf> = vec![self.server.log().to_owned(), self.worker.log().to_owned()];
        if let Some(runner) = &mut self.runner {
            if runner.program().is_ok_and(|program| !matches!(program.exit_status(), Ok(None))) {
                failures.push("the victim's runner has ended".to_owned());
            }
            logs.push(runner.log());
        }
        for log in logs {
            let text = std::fs::read(&log).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let panics = text.lines().filter(|line| line.contains("panicked at"));
            failures.extend(panics.map(|line| format!("{}: {line}", log.display())));
        }
        failures
    }

    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        if let Some(runner) = &mut self.runner {
            runner.program()?.kill().await?;
        }
        self.worker.kill().await?;
        self.server.kill().await?;
        self.temporal.kill().await?;
        self.postgres.stop().await
    }
}
