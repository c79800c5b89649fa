//! Holds row locks in the database, so that concurrent requests wait for them and race when they are
//! released.

use std::time::Duration;

use sqlx::{PgPool, Postgres, Transaction};

use crate::support::eventually;

pub struct RowLocks<'a> {
    pool: &'a PgPool,
    transaction: Transaction<'static, Postgres>,
}

impl<'a> RowLocks<'a> {
    /// Locks all memberships.
    pub async fn on_memberships(pool: &'a PgPool) -> Self {
        let mut transaction = pool.begin().await.unwrap();
        sqlx::query("select user_id from memberships order by user_id for update")
            .fetch_all(&mut *transaction)
            .await
            .unwrap();
        Self { pool, transaction }
    }

    /// Releases the locks when that many requests wait for them.
    pub async fn release_when_blocked(self, requests: i64) {
        assert!(
            until_blocked(self.pool, requests).await,
            "fewer than {requests} requests wait for the locks"
        );
        self.transaction.commit().await.unwrap();
    }
}

/// Waits until that many connections of this database wait for a lock. Returns `false` after a timeout.
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
