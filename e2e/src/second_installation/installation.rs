//! One installation: a database in the shared PostgreSQL, a server, a worker and a runner, and a pipeline to
//! deploy.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::parts::api::Api;
use crate::parts::daemon::Daemon;
use crate::parts::folder::Folder;
use crate::parts::ports;
use crate::parts::postgres::Postgres;
use crate::parts::programs::{Programs, admin, admin_json};
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::parts::temporal::Temporal;

const DEFINITION: &str = r#"
ephemeralEnvironments:
  qa-1: { stages: [build, deploy], onRelease: [clean] }
stages:
  build: { steps: [{ image: none, run: "sleep 0.3" }] }
  deploy: { needs: [build], steps: [{ image: none, run: "sleep 0.3" }] }
  clean: { steps: [{ image: none, run: "sleep 0.1" }] }
"#;

pub(super) struct Installation {
    pub(super) name: &'static str,
    pub(super) database_url: String,
    pub(super) api: Api,
    pub(super) token: String,
    server: Daemon,
    pub(super) worker: Daemon,
    runner: Option<Runner>,
    folder: std::path::PathBuf,
}

impl Installation {
    /// Creates it migrated and with an organization, without starting it.
    pub(super) async fn make(
        name: &'static str,
        (folder, programs): (&Folder, &Programs),
        (postgres, temporal): (&Postgres, &Temporal),
    ) -> anyhow::Result<Self> {
        let database_url = postgres.create_database(name).await?;
        admin(&programs.daemon, &database_url, &["migrate", "up"]).await?;
        let owner = ["--owner-email", "owner@example.test", "--owner-name", "Owner"];
        let arguments = [["admin", "bootstrap", "--slug", "acme"].as_slice(), &owner].concat();
        let made = admin_json(&programs.daemon, &database_url, &arguments).await?;
        let token = made["token"].as_str().context("no token")?.to_owned();
        let own = folder.path.join(name);
        std::fs::create_dir_all(own.join("objects"))?;
        let port = ports::free()?;
        let daemon = |role: &'static str| {
            let variables = vec![
                ("GREENROOM_DATABASE_URL", database_url.clone()),
                ("GREENROOM_TEMPORAL_ADDRESS", temporal.address().to_string()),
                ("GREENROOM_LISTEN", format!("127.0.0.1:{port}")),
                ("GREENROOM_OBJECTS", format!("file://{}", own.join("objects").display())),
            ];
            let log = folder.path.join("logs").join(format!("{name}-{role}.log"));
            Daemon::new(role, programs.daemon.clone(), log, variables)
        };
        let (server, worker) = (daemon("serve")?, daemon("worker")?);
        let api = Api::new(format!("http://127.0.0.1:{port}/api/v1"))?;
        Ok(Self { name, database_url, api, token, server, worker, runner: None, folder: own })
    }

    pub(super) async fn connect(&self) -> anyhow::Result<PgConnection> {
        Ok(PgConnection::connect(&self.database_url).await?)
    }

    pub(super) async fn id(&self) -> anyhow::Result<String> {
        let id = "select 'ins_' || id::text from installation";
        Ok(sqlx::query_scalar(id).fetch_one(&mut self.connect().await?).await?)
    }

    pub(super) async fn copy_id_of(&self, other: &Self) -> anyhow::Result<()> {
        let id = other.id().await?.replace("ins_", "");
        let copy = AssertSqlSafe(format!("update installation set id = '{id}'"));
        sqlx::query(copy).execute(&mut self.connect().await?).await?;
        Ok(())
    }

    pub(super) async fn start(&mut self, programs: &Programs) -> anyhow::Result<()> {
        for daemon in [&mut self.server, &mut self.worker] {
            daemon.start()?;
        }
        for daemon in [&mut self.server, &mut self.worker] {
            daemon.ready().await?;
        }
        let pipeline = json!({ "name": "Shop", "slug": "shop", "definition": DEFINITION });
        self.call_ok(Method::POST, "/pipelines", Some(&pipeline)).await?;
        let name = format!("runner-of-{}", self.name);
        let made = self.call_ok(Method::POST, "/runners", Some(&Runner::creation_body(&name, None))).await?;
        let mut runner = Runner::of(&made, &name, self.folder.join("runner"))?;
        let (url, backend) = (self.api.base(), Backend::Process);
        runner.start(&RunnerLaunch {
            programs,
            url,
            docker_host: None,
            backend,
            concurrency: 2,
            log_level: "info",
        })?;
        self.runner = Some(runner);
        Ok(())
    }

    /// A call below the organization that has to succeed.
    pub(super) async fn call_ok(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        self.api.call_ok(method, &format!("/organizations/acme{path}"), &self.token, body).await
    }

    pub(super) async fn end(&mut self) -> anyhow::Result<()> {
        if let Some(runner) = &mut self.runner {
            runner.end().await?;
        }
        self.worker.end().await?;
        self.server.end().await
    }
}
