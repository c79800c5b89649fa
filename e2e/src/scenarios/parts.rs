//! The real parts, shared by all scenarios: PostgreSQL and Temporal, a server and a worker, a git server, and
//! a container engine if one is needed.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::parts::api::Api;
use crate::parts::containers::Containers;
use crate::parts::daemon::Daemon;
use crate::parts::git_server::GitServer;
use crate::parts::key_file::{KEY_FILE_VARIABLE, new_key, write_key_file};
use crate::parts::listeners::Listeners;
use crate::parts::output::print_progress;
use crate::parts::ports;
use crate::parts::programs::{Programs, admin, admin_json};
use crate::parts::registry::Registry;
use crate::parts::temporal;
use crate::scenarios::options::Scenarios;
use crate::scenarios::repository::{self, Repository};
use crate::scenarios::s3::S3;
use crate::scenarios::services::{Services, dev_stack};
use crate::scenarios::step::Part;
use crate::stack::LIMITS_OFF;

const STEPS: &str = "steps";
const KEY_FILE: &str = "secrets-key";

pub(crate) struct Parts {
    services: Services,
    /// The folder that scenarios and daemons write to. It is inside the stack's folder, and is removed with
    /// the stack.
    pub(crate) folder: PathBuf,
    pub(crate) programs: Programs,
    /// Only a scenario that runs alone takes the server or the worker down.
    server: Mutex<Daemon>,
    worker: Mutex<Daemon>,
    pub(crate) api: Api,
    git_server: GitServer,
    pub(crate) listeners: Listeners,
    pub(crate) repository: Repository,
    pub(crate) containers: Option<Containers>,
    registry: Option<Registry>,
    s3: Option<S3>,
    pub(crate) log_bytes: u64,
}

impl Parts {
    pub(crate) async fn start(options: &Scenarios, containers: bool) -> anyhow::Result<Self> {
        Self::start_with(options, containers, false).await
    }

    /// Starts all parts, and a private registry if one is needed.
    pub(crate) async fn start_with(
        options: &Scenarios,
        containers: bool,
        registry: bool,
    ) -> anyhow::Result<Self> {
        let programs =
            Programs::find(options.bin_dir.as_deref(), options.daemon.as_deref(), options.entry.as_deref())?;
        let stack = format!("scenarios-{}", std::process::id());
        print_progress(&format!(
            "starting PostgreSQL, Temporal, server, worker{}{}{}",
            if containers { ", podman" } else { "" },
            if registry { ", docker-registry" } else { "" },
            if options.s3 { ", SeaweedFS" } else { "" }
        ));
        let started = Self::start_on(options, &stack, programs, (containers, registry)).await;
        if started.is_err() && !options.keep {
            dev_stack(&["reset", "--name", &stack]).await?;
        }
        started
    }

    async fn start_on(
        options: &Scenarios,
        stack: &str,
        programs: Programs,
        (containers, registry): (bool, bool),
    ) -> anyhow::Result<Self> {
        let services = Services::start(stack).await?;
        let folder = services.folder.join("scenarios");
        for part in ["logs", "objects", "repositories"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        let repository = Repository::make(&folder.join("repositories")).await?;
        let git_server = GitServer::start(&folder.join("repositories"), &folder.join(STEPS)).await?;
        let listeners = Listeners::start().await?;
        let registry = if registry { Some(Registry::start(&folder.join("registry")).await?) } else { None };
        let registry_host = registry.as_ref().map(|registry| registry.host.as_str());
        let containers = if containers { Some(Containers::start_with(registry_host).await?) } else { None };
        admin(&programs.daemon, &services.database_url, &["migrate", "up"]).await?;
        let s3 = if options.s3 { Some(S3::start(&folder.join("s3"), None).await?) } else { None };
        let port = ports::free()?;
        let key_file = folder.join(KEY_FILE);
        write_key_file(&key_file, &[new_key("scenarios")])?;
        let daemon = |role: &'static str| {
            let mut variables = vec![
                ("GREENROOM_DATABASE_URL", services.database_url.clone()),
                ("GREENROOM_TEMPORAL_ADDRESS", services.temporal_address.clone()),
                ("GREENROOM_LOG", options.log_level.clone()),
                ("GREENROOM_OBJECTS", format!("file://{}", folder.join("objects").display())),
                (KEY_FILE_VARIABLE, key_file.display().to_string()),
                ("GREENROOM_OUTBOUND_ALLOW", listeners.entries()),
            ];
            if role == "serve" {
                variables.extend([
                    ("GREENROOM_LISTEN", format!("127.0.0.1:{port}")),
                    ("GREENROOM_JOB_LEASE_SECONDS", options.lease_seconds.to_string()),
                ]);
                variables.extend(options.server_variables.clone());
            }
            if role == "worker" {
                variables.extend(options.worker_variables.clone());
            }
            if options.limits_off {
                variables.push((LIMITS_OFF.0, LIMITS_OFF.1.to_owned()));
            }
            let mut variables: Vec<(String, String)> =
                variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            if let Some(s3) = &s3 {
                // Of two values, the later one counts.
                variables.extend(s3.variables.clone());
            }
            let log = folder.join("logs").join(format!("{role}.log"));
            Daemon::new(role, programs.daemon.clone(), log, variables)
        };
        let (mut server, mut worker) = (daemon("serve")?, daemon("worker")?);
        server.start()?;
        worker.start()?;
        server.ready().await?;
        worker.ready().await?;
        let api = Api::new(format!("http://127.0.0.1:{port}/api/v1"))?;
        let (server, worker) = (Mutex::new(server), Mutex::new(worker));
        let log_bytes = options.log_mib * 1024 * 1024;
        Ok(Self {
            services,
            folder,
            programs,
            server,
            worker,
            api,
            git_server,
            listeners,
            repository,
            containers,
            registry,
            s3,
            log_bytes,
        })
    }

    /// Returns the repository's URL. A scenario whose checkouts wait has its own URL.
    pub(crate) fn repository_url(&self, held: Option<&str>) -> String {
        self.git_server.url(repository::NAME, held)
    }

    /// Returns the URL of another repository.
    pub(crate) fn url_of_repository(&self, name: &str) -> String {
        self.git_server.url(name, None)
    }

    pub(crate) fn registry(&self) -> anyhow::Result<&Registry> {
        self.registry.as_ref().context("the script does not have `\"registry\": true`")
    }

    /// Returns the logs of server and worker.
    pub(crate) fn daemon_logs(&self) -> [PathBuf; 2] {
        ["serve", "worker"].map(|role| self.folder.join("logs").join(format!("{role}.log")))
    }

    /// Returns the active master key of secrets, without its id.
    pub(crate) fn master_key(&self) -> anyhow::Result<String> {
        let line = self.key_line()?;
        line.split_once(':').map(|(_, key)| key.to_owned()).context("the master key has no id")
    }

    /// Returns the line of the active master key.
    pub(crate) fn key_line(&self) -> anyhow::Result<String> {
        let keys = std::fs::read_to_string(self.folder.join(KEY_FILE))?;
        keys.lines().next().map(str::to_owned).context("the file has no master key")
    }

    /// Replaces the master keys, and makes the server read them.
    pub(crate) async fn reload_keys(&self, keys: &[String]) -> anyhow::Result<()> {
        write_key_file(&self.folder.join(KEY_FILE), keys)?;
        self.server.lock().await.signal("HUP").await
    }

    /// Runs an operator's command that needs the master keys.
    pub(crate) async fn admin_with_keys(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let file = self.folder.join(KEY_FILE).to_string_lossy().into_owned();
        self.admin(&[&["admin", "--secrets-key-file", &file], arguments].concat()).await
    }

    pub(crate) fn database_url(&self) -> &str {
        &self.services.database_url
    }

    /// Returns the folder of PostgreSQL and Temporal, with their logs and data.
    pub(crate) fn services_folder(&self) -> &Path {
        &self.services.folder
    }

    /// Returns the path of one of PostgreSQL's own programs.
    pub(crate) fn postgres_program(&self, name: &str) -> PathBuf {
        self.services.postgres_programs.join(name)
    }

    /// Returns a command of Temporal's own client.
    pub(crate) fn temporal_cli(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(temporal::program()?);
        command.args(arguments).args(["--address", &self.services.temporal_address]);
        Ok(command)
    }

    /// Returns the metrics of server and worker.
    pub(crate) async fn metrics(&self) -> anyhow::Result<String> {
        Ok(self.server.lock().await.metrics().await? + &self.worker.lock().await.metrics().await?)
    }

    /// Returns the folder that a scenario's steps write to.
    pub(crate) fn steps_folder(&self, slug: &str) -> PathBuf {
        self.folder.join(STEPS).join(slug)
    }

    /// Runs an operator's command directly on the database and returns its output.
    pub(crate) async fn admin(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        admin_json(&self.programs.daemon, &self.services.database_url, arguments).await
    }

    /// Starts a second worker with the settings of the first.
    pub(crate) async fn start_second_worker(&self) -> anyhow::Result<Daemon> {
        let log = self.folder.join("logs").join("worker-2.log");
        let mut worker = self.worker.lock().await.another(log)?;
        worker.start()?;
        worker.ready().await?;
        Ok(worker)
    }

    /// Sends SIGKILL to a part.
    pub(crate) async fn down(&self, part: Part, lose: bool) -> anyhow::Result<()> {
        match part {
            Part::Server => self.server.lock().await.kill().await?,
            Part::Worker => self.worker.lock().await.kill().await?,
            Part::Postgres => self.services.kill("postgres").await?,
            Part::Temporal => self.services.kill("temporal").await?,
        }
        match (part, lose) {
            (_, false) => Ok(()),
            (Part::Temporal, true) => self.services.lose_temporal(),
            (part, true) => bail!("only Temporal may be lost, and not {part:?}"),
        }
    }

    /// Starts a part again and waits until all running parts are ready.
    pub(crate) async fn up(&self, part: Part) -> anyhow::Result<()> {
        match part {
            Part::Server => self.server.lock().await.start()?,
            Part::Worker => self.worker.lock().await.start()?,
            Part::Postgres | Part::Temporal => self.services.up().await?,
        }
        self.server.lock().await.ready().await?;
        self.worker.lock().await.ready().await
    }

    /// Starts the server without the master key of secrets.
    pub(crate) async fn up_without_key(&self, part: Part) -> anyhow::Result<()> {
        if part != Part::Server {
            bail!("only the server can start without the master key, and not {part:?}");
        }
        let mut server = self.server.lock().await;
        server.start_without(KEY_FILE_VARIABLE)?;
        server.ready().await
    }

    /// Starts the parts that a scenario has left down.
    pub(crate) async fn all_up(&self) -> anyhow::Result<()> {
        {
            let mut server = self.server.lock().await;
            if server.lacks_variable() {
                server.kill().await?;
            }
        }
        for part in [Part::Postgres, Part::Server, Part::Worker] {
            self.up(part).await?;
        }
        Ok(())
    }

    /// Returns the daemons' warnings and errors, for the analysis of a failure.
    pub(crate) async fn print_recent_errors(&self) {
        for (name, part) in [("server", &self.server), ("worker", &self.worker)] {
            let lines = part.lock().await.recent_errors();
            if !lines.is_empty() {
                print_progress(&format!("--- the last errors of the {name}\n{lines}"));
            }
        }
    }

    pub(crate) async fn end(self, keep: bool) -> anyhow::Result<()> {
        self.server.lock().await.end().await?;
        self.worker.lock().await.end().await?;
        if let Some(containers) = self.containers {
            containers.end().await?;
        }
        if let Some(registry) = self.registry {
            registry.end().await?;
        }
        if let Some(s3) = self.s3 {
            s3.end().await?;
        }
        if keep {
            print_progress(&format!(
                "kept: {}; `dev/stack reset --name …` removes it",
                self.folder.display()
            ));
        }
        self.services.end(keep).await
    }
}
