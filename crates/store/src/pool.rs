//! The connection pool: short waits, so that a slow or silent database is noticed in seconds and not in minutes.

use std::str::FromStr;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::StoreError;

#[derive(Clone, Debug)]
pub struct PoolSettings {
    pub url: String,
    pub application_name: &'static str,
    pub max_connections: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    /// How long to wait for others' locks.
    pub lock_timeout: Duration,
}

impl PoolSettings {
    pub fn new(url: impl Into<String>, application_name: &'static str, max_connections: u32) -> Self {
        Self {
            url: url.into(),
            application_name,
            max_connections,
            acquire_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
        }
    }
}

/// Makes a pool that connects when first used, so that a daemon can start, and say that it isn't ready, without a database.
pub fn connect(settings: &PoolSettings) -> Result<PgPool, StoreError> {
    let milliseconds = |timeout: Duration| format!("{}ms", timeout.as_millis());
    let options =
        PgConnectOptions::from_str(&settings.url)?.application_name(settings.application_name).options([
            ("statement_timeout", milliseconds(settings.statement_timeout)),
            ("lock_timeout", milliseconds(settings.lock_timeout)),
            ("idle_in_transaction_session_timeout", "10s".to_owned()),
            ("timezone", "UTC".to_owned()),
            // Compiling a statement takes longer than any of ours runs; and before a table's first analyze PostgreSQL takes
            // small statements for large ones, and would do it.
            ("jit", "off".to_owned()),
            // A plan is kept, and is made for the table as it was last analyzed. One that reads a small table as a whole would
            // go on to do so while the table grows, until somebody analyzes it again.
            ("enable_seqscan", "off".to_owned()),
            ("random_page_cost", "1.1".to_owned()),
        ]);
    Ok(PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(settings.acquire_timeout)
        .max_lifetime(Duration::from_secs(30 * 60))
        // A ping before every query would cost each request a round trip; after an outage the whole pool is renewed.
        .test_before_acquire(false)
        .connect_lazy_with(options))
}
