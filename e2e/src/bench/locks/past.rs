//! A long history: millions of sessions that have ended, as if an organization had worked with its
//! environments for years.

use sqlx::{Connection, PgConnection};

use super::fixture::LockFixture;
use crate::bench::print_progress;
use crate::stack::{Organization, Process, Stack};

const ENVIRONMENTS: i32 = 1_000;
/// One in this many past sessions belongs to `env-0`, which is measured: see past_sessions.sql.
pub(crate) const FIRST_ENVIRONMENT_DIVISOR: i64 = 100;
/// Batch size of the inserts.
const BATCH_SIZE: i64 = 1_000_000;

/// A database with a dedicated server and worker, and a history in it.
pub(crate) struct PastFixture {
    pub(crate) stack: Stack,
    pub(crate) organization: Organization,
    server: Process,
    worker: Process,
    pub(crate) fixture: LockFixture,
}

impl PastFixture {
    pub(crate) async fn begin(beside: &Stack, database: &str, sessions: i64) -> anyhow::Result<Self> {
        let stack = beside.beside(database).await?;
        let organization = stack.organization("bench", 0).await?;
        let (server, worker) = (stack.server().await?, stack.worker().await?);
        let fixture = LockFixture::make(&server, &organization, 1).await?;
        make(&mut stack.connect().await?, sessions).await?;
        Ok(Self { stack, organization, server, worker, fixture })
    }

    /// Starts another server in place of the first, with new connections to the database.
    pub(crate) async fn with_new_server(self) -> anyhow::Result<Self> {
        self.server.end().await;
        let server = self.stack.server().await?;
        let fixture = LockFixture::of(&server, &self.organization);
        Ok(Self { server, fixture, ..self })
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
        // Skips the foreign key check for each row: the generated rows are consistent.
        "set local session_replication_role = replica",
        // A batch is sorted in memory.
        "set local work_mem = '512MB'",
        "set local jit = off",
    ] {
        sqlx::query(setting).execute(&mut *transaction).await?;
    }
    for from in (0..sessions).step_by(BATCH_SIZE as usize) {
        let to = (from + BATCH_SIZE).min(sessions);
        sqlx::query(include_str!("../../../bench/past_sessions.sql"))
            .bind(from)
            .bind(to - 1)
            .bind(sessions)
            .bind(i64::from(ENVIRONMENTS))
            .execute(&mut *transaction)
            .await?;
        print_progress(&format!("growth: {to} of {sessions} past sessions"));
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
