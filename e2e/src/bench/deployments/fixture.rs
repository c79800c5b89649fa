//! The fixture of the measurements: Greenroom with a dedicated PostgreSQL and Temporal, a server and a worker
//! with default settings, one organization with one pipeline, and runners.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::runner::{Kind, Runner};
use crate::parts::api::Api;
use crate::parts::daemon::Daemon;
use crate::parts::key_file::{KEY_FILE_VARIABLE, new_key, write_key_file};
use crate::parts::ports;
use crate::parts::programs::{Programs, admin};
use crate::scenarios::services::{Services, dev_stack};
use crate::stack::LIMITS_OFF;

const ORGANIZATION: &str = "bench";
const PIPELINE: &str = "bench";
/// The interval between two reads of a deployment until it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) struct DeploymentFixture {
    pub(crate) services: Services,
    /// The folder for logs and objects. It is inside the stack's folder, and is removed with the stack.
    pub(crate) folder: PathBuf,
    pub(crate) programs: Programs,
    pub(crate) server: Daemon,
    pub(crate) worker: Daemon,
    pub(crate) runners: Vec<Runner>,
    pub(crate) api: Api,
    pub(crate) token: String,
}

impl DeploymentFixture {
    /// `name` is the name of the stack.
    pub(crate) async fn start(name: &str, programs: &Programs) -> anyhow::Result<Self> {
        let started = Self::start_on(name, programs).await;
        if started.is_err() {
            dev_stack(&["reset", "--name", name]).await?;
        }
        started
    }

    async fn start_on(name: &str, programs: &Programs) -> anyhow::Result<Self> {
        let services = Services::start(name).await?;
        let folder = services.folder.join("bench");
        std::fs::create_dir_all(folder.join("logs"))?;
        std::fs::create_dir_all(folder.join("objects"))?;
        let (daemon, database) = (&programs.daemon, &services.database_url);
        admin(daemon, database, &["migrate", "up"]).await?;
        let owner = ["--owner-email", "owner@example.test", "--owner-name", "Owner"];
        let arguments = [&["admin", "bootstrap", "--slug", ORGANIZATION], &owner[..]].concat();
        let made: Value = serde_json::from_str(&admin(daemon, database, &arguments).await?)?;
        let token = made["token"].as_str().context("admin bootstrap printed no token")?.to_owned();

        let port = ports::free()?;
        let variables = vec![
            ("GREENROOM_DATABASE_URL", database.clone()),
            ("GREENROOM_TEMPORAL_ADDRESS", services.temporal_address.clone()),
            ("GREENROOM_OBJECTS", format!("file://{}", folder.join("objects").display())),
        ];
        let mut server_variables = variables.clone();
        server_variables.push(("GREENROOM_LISTEN", format!("127.0.0.1:{port}")));
        // The whole load belongs to one organization.
        server_variables.push((LIMITS_OFF.0, LIMITS_OFF.1.to_owned()));
        let key_file = folder.join("secrets-key");
        write_key_file(&key_file, &[new_key("bench")])?;
        server_variables.push((KEY_FILE_VARIABLE, key_file.display().to_string()));
        let log = |role: &str| folder.join("logs").join(format!("{role}.log"));
        let mut server = Daemon::new("serve", daemon.clone(), log("serve"), server_variables)?;
        let mut worker = Daemon::new("worker", daemon.clone(), log("worker"), variables)?;
        server.start()?;
        worker.start()?;
        server.ready().await?;
        worker.ready().await?;
        let api = Api::new(format!("http://127.0.0.1:{port}/api/v1"))?;
        let (programs, runners) = (programs.clone(), Vec::new());
        Ok(Self { services, folder, programs, server, worker, runners, api, token })
    }

    /// Creates the pipeline. It has no repository, so nothing is checked out.
    pub(crate) async fn make_pipeline(&self, definition: &str) -> anyhow::Result<()> {
        let pipeline = json!({ "name": "Bench", "slug": PIPELINE, "definition": definition });
        let path = format!("/organizations/{ORGANIZATION}/pipelines");
        self.api.call_ok(Method::POST, &path, &self.token, Some(&pipeline)).await.map(drop)
    }

    pub(crate) async fn start_runner(&mut self, kind: Kind<'_>, concurrency: usize) -> anyhow::Result<()> {
        let name = format!("runner-{}", self.runners.len() + 1);
        let path = format!("/organizations/{ORGANIZATION}/runners");
        let body = json!({ "name": name, "pool": "default" });
        let made = self.api.call_ok(Method::POST, &path, &self.token, Some(&body)).await?;
        let token = made["token"].as_str().context("a runner has no token")?;
        let folder = self.folder.join(&name);
        let runner =
            Runner::start(&name, folder, (&self.programs, self.api.base()), token, kind, concurrency);
        self.runners.push(runner?);
        Ok(())
    }

    /// Returns the id of the accepted deployment.
    pub(crate) async fn deploy(&self, commit: &str) -> anyhow::Result<String> {
        let path = format!("/organizations/{ORGANIZATION}/pipelines/{PIPELINE}/deployments");
        let body = json!({ "commitId": commit });
        let made = self.api.call_ok(Method::POST, &path, &self.token, Some(&body)).await?;
        made["id"].as_str().map(str::to_owned).context("a deployment has no id")
    }

    pub(crate) fn deployment_path(deployment: &str, rest: &str) -> String {
        format!("/organizations/{ORGANIZATION}/deployments/{deployment}{rest}")
    }

    pub(crate) async fn read(&self, deployment: &str, rest: &str) -> anyhow::Result<Value> {
        self.api.get(&Self::deployment_path(deployment, rest), &self.token).await
    }

    /// Waits until the deployment has succeeded and returns it. Any other end voids the measurement.
    pub(crate) async fn succeeded(&self, deployment: &str, within: Duration) -> anyhow::Result<Value> {
        let began = Instant::now();
        loop {
            let found = self.read(deployment, "").await?;
            match found["status"].as_str().unwrap_or_default() {
                "succeeded" => return Ok(found),
                "queued" | "running" if began.elapsed() < within => tokio::time::sleep(POLL_INTERVAL).await,
                _ => bail!("a deployment did not succeed: {found:#}\n{}", self.recent_errors()),
            }
        }
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<PgConnection> {
        Ok(PgConnection::connect(&self.services.database_url).await?)
    }

    pub(crate) fn recent_errors(&self) -> String {
        format!("server: {}\nworker: {}", self.server.recent_errors(), self.worker.recent_errors())
    }

    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        for runner in &mut self.runners {
            runner.end().await?;
        }
        self.server.end().await?;
        self.worker.end().await?;
        self.services.end(false).await
    }
}

/// Returns a commit id that belongs to no repository. It contains a number that the steps can read.
pub(crate) fn commit(number: usize) -> String {
    format!("{number:07x}")
}
