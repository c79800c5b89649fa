//! Observes which deployments wait, and for what.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::Shared;

const POLL_INTERVAL: Duration = Duration::from_millis(150);
const WAITING: &str = "select deployment_id, blocker ->> 'kind' from stages
    where status = 'waiting' and blocker is not null";

impl Shared {
    /// Runs until it is aborted.
    pub(crate) async fn observe_waiting(self: Arc<Self>) {
        loop {
            // PostgreSQL is killed at times.
            let _ = self.observe_until_error().await;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn observe_until_error(&self) -> Result<(), sqlx::Error> {
        let mut connection = PgConnection::connect(&self.database_url).await?;
        loop {
            let rows: Vec<(Uuid, String)> = sqlx::query_as(WAITING).fetch_all(&mut connection).await?;
            for (deployment, kind) in rows {
                self.history().waiting.entry(kind).or_default().insert(deployment);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
