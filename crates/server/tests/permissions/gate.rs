//! Holds rows of the database, so that requests meet before them at the same moment.

use std::time::Duration;

use sqlx::{PgPool, Postgres, Transaction};

use crate::support::eventually;

pub struct Gate<'a> {
    pool: &'a PgPool,
    transaction: Transaction<'static, Postgres>,
}

impl<'a> Gate<'a> {
    /// Locks all memberships.
    pub async fn before_members(pool: &'a PgPool) -> Self {
        let mut transaction = pool.begin().await.unwrap();
        sqlx::query("select user_id from memberships order by user_id for update")
            .fetch_all(&mut *transaction)
            .await
            .unwrap();
        Self { pool, transaction }
    }

    /// Lets go when that many requests wait.
    pub async fn open_for(self, requests: i64) {
        assert!(until_blocked(self.pool, requests).await, "{requests} requests should have come to wait");
        self.transaction.commit().await.unwrap();
    }
}

/// Whether that many sessions of this database come to wait for a lock.
pub async fn until_blocked(pool: &PgPool, sessions: i64) -> bool {
    eventually(Duration::from_secs(2), async || {
        let blocked: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock'",
        )
        .fetch_one(pool)
        .await
        .unwrap();
        blocked >= sessions
    })
    .await
}
