//! A stack for measurements: PostgreSQL by `dev/stack`, and the release builds of the daemons from beside
//! this program.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use uuid::Uuid;

const START_TIMEOUT: Duration = Duration::from_secs(30);
const DATABASE: &str = "bench";
/// A variable instead of a flag, because `bench compare` also starts servers of earlier revisions, which lack
/// the flag.
pub(crate) const LIMITS_OFF: (&str, &str) = ("GREENROOM_LIMITS", "off");

pub(crate) struct Stack {
    name: String,
    pub(crate) database_url: String,
    /// The folder of PostgreSQL's own programs.
    programs: PathBuf,
}

pub(crate) struct Organization {
    pub(crate) id: String,
    pub(crate) uuid: Uuid,
    pub(crate) token: String,
}

pub(crate) struct Process {
    child: Child,
    /// The URL without a path.
    pub(crate) address: String,
}

impl Stack {
    /// Starts PostgreSQL, with an empty, migrated database.
    pub(crate) async fn start(name: &str) -> anyhow::Result<Self> {
        let output = Command::new("dev/stack")
            .args(["up", "--services", "--json", "--name", name])
            .stderr(Stdio::inherit())
            .output()
            .await
            .context("run this from the root of the checkout, by `cargo xtask bench`")?;
        if !output.status.success() {
            bail!("dev/stack up failed");
        }
        let output: Value = serde_json::from_slice(&output.stdout)?;
        let server_url = output["databaseUrl"].as_str().context("dev/stack printed no databaseUrl")?;
        let programs = output["postgresBin"].as_str().context("dev/stack printed no postgresBin")?.into();
        Self { name: name.to_owned(), database_url: server_url.to_owned(), programs }.beside(DATABASE).await
    }

    /// Creates another database in the same PostgreSQL, empty and migrated.
    pub(crate) async fn beside(&self, database: &str) -> anyhow::Result<Self> {
        let mut connection = self.connect().await?;
        for statement in ["drop database if exists NAME with (force)", "create database NAME"] {
            let statement = AssertSqlSafe(statement.replace("NAME", database));
            sqlx::query(statement).execute(&mut connection).await?;
        }
        let (base, _) = self.database_url.rsplit_once('/').context("databaseUrl has no path")?;
        let (name, programs) = (self.name.clone(), self.programs.clone());
        let stack = Self { name, database_url: format!("{base}/{database}"), programs };
        stack.daemon(&["migrate", "up"])?.stdout(Stdio::null()).status().await?;
        Ok(stack)
    }

    /// Creates an organization with an owner's token and a number of pipelines.
    pub(crate) async fn organization(&self, slug: &str, pipelines: i32) -> anyhow::Result<Organization> {
        let owner = ["--owner-email", "owner@example.test", "--owner-name", "Owner"];
        let output = self.daemon(&["admin", "bootstrap", "--slug", slug])?.args(owner).output().await?;
        let made: Value = serde_json::from_slice(&output.stdout).context("admin bootstrap failed")?;
        let text_field =
            |key: &str| made[key].as_str().map(str::to_owned).with_context(|| format!("no {key}"));
        let id = text_field("organizationId")?;
        let uuid = id.trim_start_matches("org_").parse()?;
        let mut connection = PgConnection::connect(&self.database_url).await?;
        sqlx::query(
            "insert into pipelines (organization_id, id, slug, name, repository, definition_version)
             select $1, gen_random_uuid(), 'pipeline-' || number, 'Pipeline ' || number, 'https://git.example.test/p', 1
             from generate_series(1, $2) number",
        )
        .bind(uuid)
        .bind(pipelines)
        .execute(&mut connection)
        .await?;
        sqlx::query("update organization_totals set pipelines = $2 where organization_id = $1")
            .bind(uuid)
            .bind(i64::from(pipelines))
            .execute(&mut connection)
            .await?;
        sqlx::query("vacuum analyze").execute(&mut connection).await?;
        Ok(Organization { id, uuid, token: text_field("token")? })
    }

    /// Starts the server as an operator would, logging at its default level into a file; but without limits
    /// per token, organization and address, because the whole load uses one token.
    pub(crate) async fn server(&self) -> anyhow::Result<Process> {
        let (listen, metrics) = (free_port()?, free_port()?);
        let log = std::fs::File::create(self.log(&format!("server-of-{}", self.database())))?;
        let mut command = self.daemon(&["serve", "--listen", &listen, "--metrics-listen", &metrics])?;
        command.env("GREENROOM_LOG_FORMAT", "json").stderr(log).env(LIMITS_OFF.0, LIMITS_OFF.1);
        Process::start(command, &listen).await
    }

    /// Starts the worker in the same way. It is ready when its operators' port responds.
    pub(crate) async fn worker(&self) -> anyhow::Result<Process> {
        let metrics = free_port()?;
        let log = std::fs::File::create(self.log(&format!("worker-of-{}", self.database())))?;
        let mut command = self.daemon(&["worker", "--metrics-listen", &metrics])?;
        command.env("GREENROOM_LOG_FORMAT", "json").stderr(log);
        Process::start(command, &metrics).await
    }

    pub(crate) async fn bare_api(&self, organization: Uuid) -> anyhow::Result<Process> {
        let listen = free_port()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bare-api", "--listen", &listen, "--database-url", &self.database_url]);
        command.args(["--organization", &organization.to_string()]);
        Process::start(command, &listen).await
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<PgConnection> {
        Ok(PgConnection::connect(&self.database_url).await?)
    }

    /// Returns the path of one of PostgreSQL's own programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    pub(crate) fn database(&self) -> &str {
        self.database_url.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the log of one part, such as `postgres`.
    pub(crate) fn log(&self, part: &str) -> PathBuf {
        format!(".stack/{}/logs/{part}.log", self.name).into()
    }

    fn daemon(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let program: PathBuf = std::env::current_exe()?.with_file_name("greenroomd");
        let mut command = Command::new(program);
        command.args(arguments).env("GREENROOM_DATABASE_URL", &self.database_url);
        Ok(command)
    }

    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let mut command = Command::new("dev/stack");
        command.args(["reset", "--name", &self.name]).stdout(Stdio::null()).status().await?;
        Ok(())
    }
}

impl Process {
    async fn start(mut command: Command, listen: &str) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).kill_on_drop(true).spawn()?;
        let started = Instant::now();
        while !responds(listen).await {
            if started.elapsed() > START_TIMEOUT {
                bail!("{command:?} did not respond within {START_TIMEOUT:?}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(Self { child, address: format!("http://{listen}") })
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("it has ended")
    }

    pub(crate) async fn end(mut self) {
        let _ = self.child.kill().await;
    }
}

/// Returns whether `/readyz` responds at all; the bare handler has no such page and returns 404.
async fn responds(listen: &str) -> bool {
    let request = async {
        let mut stream = TcpStream::connect(listen).await.ok()?;
        let request = format!("GET /readyz HTTP/1.1\r\nHost: {listen}\r\nConnection: close\r\n\r\n");
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.ok()?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await.ok()?;
        (response.starts_with("HTTP/1.1 200") || response.starts_with("HTTP/1.1 404")).then_some(())
    };
    request.await.is_some()
}

fn free_port() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
