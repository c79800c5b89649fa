//! The real parts, once for all scenarios: PostgreSQL and Temporal by `dev/stack`, a server and a worker, a git server,
//! and a container engine if one is asked for.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

use crate::ports;
use crate::scenarios::Scenarios;
use crate::scenarios::api::Api;
use crate::scenarios::containers::Containers;
use crate::scenarios::git_server::GitServer;
use crate::scenarios::program::Program;
use crate::scenarios::report::say;
use crate::scenarios::repository::{self, Repository};

const END: Duration = Duration::from_secs(20);

pub(crate) struct Parts {
    stack: String,
    /// Everything that scenarios and daemons write. It is the stack's own, so it goes with it.
    pub(crate) folder: PathBuf,
    pub(crate) programs: Programs,
    database_url: String,
    server: Program,
    worker: Program,
    pub(crate) api: Api,
    git_server: GitServer,
    pub(crate) repository: Repository,
    pub(crate) containers: Option<Containers>,
    pub(crate) log_bytes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Programs {
    daemon: PathBuf,
    pub(crate) runner: PathBuf,
    pub(crate) entry: PathBuf,
}

impl Programs {
    fn find(options: &Scenarios) -> anyhow::Result<Self> {
        let folder = match &options.bin_dir {
            Some(folder) => {
                folder.canonicalize().with_context(|| format!("{} is not there", folder.display()))?
            }
            None => std::env::current_exe()?.parent().context("this program is nowhere")?.to_owned(),
        };
        let entry = options.entry.clone().unwrap_or_else(|| folder.join("greenroom-entry"));
        let own = Self { daemon: folder.join("greenroomd"), runner: folder.join("greenroom-runner"), entry };
        for program in [&own.daemon, &own.runner, &own.entry] {
            if !program.is_file() {
                bail!("{} is missing; `cargo xtask e2e` builds it", program.display());
            }
        }
        Ok(own)
    }
}

impl Parts {
    pub(crate) async fn start(options: &Scenarios, containers: bool) -> anyhow::Result<Self> {
        let programs = Programs::find(options)?;
        let stack = format!("scenarios-{}", std::process::id());
        say(&format!(
            "starting PostgreSQL, Temporal, server, worker{}",
            if containers { ", podman" } else { "" }
        ));
        let started = Self::start_on(options, &stack, programs, containers).await;
        if started.is_err() && !options.keep {
            dev_stack(&["reset", "--name", &stack]).await?;
        }
        started
    }

    async fn start_on(
        options: &Scenarios,
        stack: &str,
        programs: Programs,
        containers: bool,
    ) -> anyhow::Result<Self> {
        let facts = dev_stack(&["up", "--services", "--json", "--name", stack]).await?;
        let facts: Value = serde_json::from_str(&facts).context("dev/stack said no JSON")?;
        let fact = |key: &str| {
            facts[key].as_str().map(str::to_owned).with_context(|| format!("dev/stack said no {key}"))
        };
        let (database_url, temporal) = (fact("databaseUrl")?, fact("temporalAddress")?);
        let folder = std::env::current_dir()?.join(".stack").join(stack).join("scenarios");
        for part in ["logs", "objects", "repositories"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        let repository = Repository::make(&folder.join("repositories")).await?;
        let git_server = GitServer::start(&folder.join("repositories")).await?;
        let containers = if containers { Some(Containers::start().await?) } else { None };
        admin(&programs.daemon, &database_url, &["migrate", "up"]).await?;
        let (port, metrics, worker_metrics) = (ports::free()?, ports::free()?, ports::free()?);
        let daemon = |command: &mut Command, role: &str, metrics: u16| {
            command
                .arg(role)
                .env("GREENROOM_DATABASE_URL", &database_url)
                .env("GREENROOM_TEMPORAL_ADDRESS", &temporal)
                .env("GREENROOM_METRICS_LISTEN", format!("127.0.0.1:{metrics}"))
                .env("GREENROOM_LOG", std::env::var("GREENROOM_LOG").unwrap_or_else(|_| "info".to_owned()));
        };
        let objects = format!("file://{}", folder.join("objects").display());
        let mut server =
            Program::start("server", &programs.daemon, folder.join("logs/server.log"), |command| {
                daemon(command, "serve", metrics);
                command
                    .env("GREENROOM_LISTEN", format!("127.0.0.1:{port}"))
                    .env("GREENROOM_OBJECTS", &objects)
                    .env("GREENROOM_JOB_LEASE_SECONDS", options.lease_seconds.to_string());
            })?;
        let mut worker =
            Program::start("worker", &programs.daemon, folder.join("logs/worker.log"), |command| {
                daemon(command, "worker", worker_metrics);
                command.env("GREENROOM_OBJECTS", &objects);
            })?;
        server.ready(&format!("http://127.0.0.1:{port}/readyz")).await?;
        worker.ready(&format!("http://127.0.0.1:{worker_metrics}/readyz")).await?;
        let api = Api::new(format!("http://127.0.0.1:{port}/api/v1"))?;
        let (stack, log_bytes) = (stack.to_owned(), options.log_mib * 1024 * 1024);
        Ok(Self {
            stack,
            folder,
            programs,
            database_url,
            server,
            worker,
            api,
            git_server,
            repository,
            containers,
            log_bytes,
        })
    }

    pub(crate) fn repository_url(&self) -> String {
        self.git_server.url(repository::NAME)
    }

    /// An operator's command, straight on the database. Its answer.
    pub(crate) async fn admin(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let said = admin(&self.programs.daemon, &self.database_url, arguments).await?;
        serde_json::from_str(&said)
            .with_context(|| format!("greenroomd {} said no JSON", arguments.join(" ")))
    }

    /// What the daemons complained of, for whoever wants to know why something failed.
    pub(crate) fn complaints(&self) {
        for (name, part) in [("server", &self.server), ("worker", &self.worker)] {
            let words = part.lines_with(&[" WARN ", " ERROR ", "panicked"], 25);
            if !words.is_empty() {
                say(&format!("--- the last complaints of the {name}\n{words}"));
            }
        }
    }

    pub(crate) async fn end(mut self, keep: bool) -> anyhow::Result<()> {
        self.server.end(END).await?;
        self.worker.end(END).await?;
        if let Some(containers) = self.containers {
            containers.end().await?;
        }
        if keep {
            say(&format!("kept: {} (dev/stack reset --name {})", self.folder.display(), self.stack));
            dev_stack(&["down", "--name", &self.stack]).await?;
        } else {
            dev_stack(&["reset", "--name", &self.stack]).await?;
        }
        Ok(())
    }
}

async fn admin(daemon: &Path, database_url: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(daemon);
    command.args(arguments).env("GREENROOM_DATABASE_URL", database_url).env("GREENROOM_LOG", "warn");
    let output = command.stdin(Stdio::null()).output().await?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("greenroomd {} failed: {words}", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}

async fn dev_stack(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("dev/stack");
    let output = command.args(arguments).stderr(Stdio::piped()).output().await;
    let output = output.context("run this from the root of the checkout, by `cargo xtask e2e`")?;
    if !output.status.success() {
        bail!("dev/stack {} failed:\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
