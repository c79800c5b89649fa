//! A long past: millions of sessions that have ended, as if an organization had worked with its environments for years.

use sqlx::{Connection, PgConnection};

use super::scene::Scene;
use crate::bench::say;
use crate::stack::{Organization, Process, Stack};

const ENVIRONMENTS: i32 = 1_000;
/// Of all past sessions, one in how many is of `env-0`, which is measured: past_sessions.sql.
pub(crate) const SHARE_OF_THE_FIRST: i64 = 100;
/// How many are made at a time.
const PORTION: i64 = 1_000_000;

/// A database with a server and a worker of its own, and a past in it.
pub(crate) struct Era {
    pub(crate) stack: Stack,
    pub(crate) organization: Organization,
    server: Process,
    worker: Process,
    pub(crate) scene: Scene,
}

impl Era {
    pub(crate) async fn begin(beside: &Stack, database: &str, sessions: i64) -> anyhow::Result<Self> {
        let stack = beside.beside(database).await?;
        let organization = stack.organization("bench", 0).await?;
        let (server, worker) = (stack.server().await?, stack.worker().await?);
        let scene = Scene::make(&server, &organization, 1).await?;
        make(&mut stack.connect().await?, sessions).await?;
        Ok(Self { stack, organization, server, worker, scene })
    }

    /// Another server in the place of the first, with new connections to the database.
    pub(crate) async fn with_new_server(self) -> anyhow::Result<Self> {
        self.server.end().await;
        let server = self.stack.server().await?;
        let scene = Scene::of(&server, &self.organization);
        Ok(Self { server, scene, ..self })
    }

    pub(crate) async fn analyze(&self) -> anyhow::Result<()> {
        sqlx::query("vacuum analyze").execute(&mut self.stack.connect().await?).await?;
        Ok(())
    }

    pub(crate) async fn end(self) {
        self.server.end().await;
        self.worker.end().await;
    }
}

async fn make(connection: &mut PgConnection, sessions: i64) -> anyhow::Result<()> {
    sqlx::query(include_str!("../../../bench/past_environments.sql"))
        .bind(ENVIRONMENTS)
        .execute(&mut *connection)
        .await?;
    sqlx::query("analyze environments").execute(&mut *connection).await?;
    let mut transaction = connection.begin().await?;
    for setting in [
        // No look at the foreign key for each row: what is made here is right.
        "set local session_replication_role = replica",
        // A portion is sorted in memory.
        "set local work_mem = '512MB'",
        "set local jit = off",
    ] {
        sqlx::query(setting).execute(&mut *transaction).await?;
    }
    for from in (0..sessions).step_by(PORTION as usize) {
        let to = (from + PORTION).min(sessions);
        sqlx::query(include_str!("../../../bench/past_sessions.sql"))
            .bind(from)
            .bind(to - 1)
            .bind(sessions)
            .bind(i64::from(ENVIRONMENTS))
            .execute(&mut *transaction)
            .await?;
        say(&format!("growth: {to} of {sessions} past sessions"));
    }
    sqlx::query(
        "update environments e set sessions = past.sessions, fence = past.sessions * 2
         from (select environment_id, count(*) as sessions from sessions group by environment_id) past
         where e.id = past.environment_id",
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    sqlx::query("vacuum analyze").execute(&mut *connection).await?;
    sqlx::query("checkpoint").execute(connection).await?;
    Ok(())
}
