//! The system under test: PostgreSQL, Temporal, two servers, two workers, runners, containers and git, with a
//! separate proxy for every pair that communicates.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::fault::deployments::commits::Commits;
use crate::fault::deployments::options::CampaignOptions;
use crate::parts::containers::Containers;
use crate::parts::daemon::Daemon;
use crate::parts::folder::Folder;
use crate::parts::git_server::GitServer;
use crate::parts::key_file::{KEY_FILE_VARIABLE, new_key, write_key_file};
use crate::parts::ports;
use crate::parts::postgres::Postgres;
use crate::parts::programs::{Programs, admin, admin_json};
use crate::parts::proxy::Proxy;
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::parts::temporal::Temporal;

/// Short, so that a lost job is given away while the campaign waits for it.
const JOB_LEASE_SECONDS: u64 = 6;
const DAEMONS_PER_ROLE: usize = 2;
/// Longer than the steps take, whose end a runner waits for.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(150);

pub(crate) struct Stack {
    pub(crate) servers: Vec<Part>,
    pub(crate) workers: Vec<Part>,
    pub(crate) runners: Vec<ProxiedRunner>,
    pub(crate) postgres: Postgres,
    pub(crate) temporal: Temporal,
    containers: Option<Containers>,
    repository: Option<Repository>,
    programs: Programs,
    /// The name of a planted bug.
    planted: Option<String>,
    /// The file with the master key of secrets.
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) folder: Folder,
}

/// A git repository, and its server.
struct Repository {
    server: GitServer,
    commits: Commits,
}

/// A server or a worker, and its proxies.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) daemon: Daemon,
    pub(crate) to_postgres: Proxy,
    pub(crate) to_temporal: Proxy,
    port: u16,
}

impl Part {
    /// The URL with `/api/v1`; only a server has one.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1", self.port)
    }
}

/// A runner, and its proxy to the servers.
pub(crate) struct ProxiedRunner {
    pub(crate) runner: Runner,
    pub(crate) to_server: Proxy,
    backend: Backend,
}

/// Runs operators' commands.
pub(crate) struct AdminClient {
    daemon: PathBuf,
    database_url: String,
}

impl AdminClient {
    pub(crate) async fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        admin_json(&self.daemon, &self.database_url, arguments).await
    }
}

impl Stack {
    /// Starts everything but the runners. Without a number of commits there are no containers and no git
    /// repository. `name` is that of its folder.
    pub(crate) async fn start(
        options: &CampaignOptions,
        name: &str,
        commits: Option<usize>,
    ) -> anyhow::Result<Self> {
        let (folder, daemon) = (options.bin_dir.as_deref(), options.daemon.as_deref());
        let programs = Programs::find(folder, daemon, options.entry.as_deref())?;
        let folder = Folder::make(name, options.keep)?;
        std::fs::create_dir_all(folder.path.join("objects"))?;
        let key_file = options.seals.then(|| folder.path.join("secrets-keys"));
        if let Some(path) = &key_file {
            write_key_file(path, &[new_key("campaign")])?;
        }
        let mut temporal = Temporal::new(&folder.path.join("temporal"))?;
        temporal.start()?;
        let postgres = Postgres::make(&folder.path.join("postgres")).await?;
        let (mut repository, mut containers) = (None, None);
        if let Some(count) = commits {
            let repositories = folder.path.join("repositories");
            let commits = Commits::make(&repositories, count).await?;
            let server = GitServer::start(&repositories, &folder.path).await?;
            repository = Some(Repository { server, commits });
            containers = Some(Containers::start().await?);
        }
        admin(&programs.daemon, &postgres.url(), &["migrate", "up"]).await?;
        temporal.ready().await?;
        let (servers, workers, runners) = (Vec::new(), Vec::new(), Vec::new());
        let mut stack = Self {
            servers,
            workers,
            runners,
            postgres,
            temporal,
            containers,
            repository,
            programs,
            planted: options.planted.clone(),
            key_file,
            folder,
        };
        for number in 1..=DAEMONS_PER_ROLE {
            let (server, worker) =
                (stack.part("serve", "server", number).await?, stack.part("worker", "worker", number).await?);
            stack.servers.push(server);
            stack.workers.push(worker);
        }
        for part in stack.parts() {
            part.daemon.start()?;
        }
        for part in stack.parts() {
            part.daemon.ready().await?;
        }
        Ok(stack)
    }

    async fn part(&self, role: &'static str, prefix: &str, number: usize) -> anyhow::Result<Part> {
        let to_postgres = Proxy::start(vec![self.postgres.address()]).await?;
        let to_temporal = Proxy::start(vec![self.temporal.address()]).await?;
        let (name, port) = (format!("{prefix}-{number}"), ports::free()?);
        let objects = self.objects();
        let mut variables = vec![
            ("GREENROOM_DATABASE_URL", self.postgres.url_through(to_postgres.port)),
            ("GREENROOM_TEMPORAL_ADDRESS", format!("127.0.0.1:{}", to_temporal.port)),
            ("GREENROOM_DATABASE_CONNECTIONS", "8".to_owned()),
            ("GREENROOM_LOG", "info".to_owned()),
            ("GREENROOM_OBJECTS", format!("file://{}", objects.display())),
        ];
        if role == "serve" {
            variables.extend([
                ("GREENROOM_LISTEN", format!("127.0.0.1:{port}")),
                ("GREENROOM_JOB_LEASE_SECONDS", JOB_LEASE_SECONDS.to_string()),
            ]);
        }
        variables.extend(self.key_file.iter().map(|path| (KEY_FILE_VARIABLE, path.display().to_string())));
        variables.extend(self.planted.clone().map(|bug| ("GREENROOM_PLANTED", bug)));
        let log = self.folder.path.join("logs").join(format!("{name}.log"));
        let daemon = Daemon::new(role, self.programs.daemon.clone(), log, variables)?;
        Ok(Part { name, daemon, to_postgres, to_temporal, port })
    }

    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        self.servers.iter_mut().chain(&mut self.workers)
    }

    /// Runs an operator's command directly on the database and returns its output.
    pub(crate) async fn admin_json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.admin_client().json(arguments).await
    }

    pub(crate) fn admin_client(&self) -> AdminClient {
        AdminClient { daemon: self.programs.daemon.clone(), database_url: self.postgres.url() }
    }

    pub(crate) fn repository_url(&self) -> Option<String> {
        self.repository.as_ref().map(|of| of.server.url(of.commits.repository(), None))
    }

    /// The ids of the repository's commits.
    pub(crate) fn commits(&self) -> &[String] {
        self.repository.as_ref().map_or(&[], |repository| repository.commits.all())
    }

    /// The URLs of all servers, with `/api/v1`.
    pub(crate) fn base_urls(&self) -> Vec<String> {
        self.servers.iter().map(Part::base_url).collect()
    }

    /// Adds a runner from the API's response to its creation. Its proxy connects it to whichever server is
    /// up.
    pub(crate) async fn add_runner(
        &mut self,
        made: &Value,
        name: &str,
        backend: Backend,
    ) -> anyhow::Result<()> {
        let servers = self.servers.iter().map(|server| SocketAddr::from(([127, 0, 0, 1], server.port)));
        let to_server = Proxy::start(servers.collect()).await?;
        let runner = Runner::of(made, name, self.folder.path.join("runners").join(name))?;
        self.runners.push(ProxiedRunner { runner, to_server, backend });
        self.start_runner(self.runners.len() - 1)
    }

    /// Starts the runner's process, for the first time or again.
    pub(crate) fn start_runner(&mut self, index: usize) -> anyhow::Result<()> {
        let proxied = &mut self.runners[index];
        let url = format!("http://127.0.0.1:{}/api/v1", proxied.to_server.port);
        proxied.runner.start(&RunnerLaunch {
            programs: &self.programs,
            url: &url,
            docker_host: self.containers.as_ref().map(Containers::host),
            backend: proxied.backend,
            concurrency: 2,
            log_level: "info",
        })
    }

    /// Ends a runner when its jobs have ended, and starts another program in its place.
    pub(crate) async fn replace_runner(&mut self, index: usize, programs: &Programs) -> anyhow::Result<()> {
        self.runners[index].runner.program()?.end(DRAIN_TIMEOUT).await?;
        self.programs = programs.clone();
        self.start_runner(index)
    }

    /// Where the daemons' program is.
    pub(crate) fn daemon(&self) -> &Path {
        &self.programs.daemon
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.path.join("objects")
    }

    /// Stops everything. The folder is removed when its last user is dropped.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        for proxied in &mut self.runners {
            proxied.runner.program()?.kill().await?;
        }
        for part in self.servers.iter_mut().chain(&mut self.workers) {
            part.daemon.kill().await?;
        }
        self.temporal.kill().await?;
        if let Some(containers) = self.containers {
            containers.end().await?;
        }
        self.postgres.stop().await
    }
}
