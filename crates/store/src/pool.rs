//! The connection pool. Its timeouts are short, so that a slow or unresponsive database is noticed within
//! seconds.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool};

use crate::StoreError;

/// A connection that was idle for this long is pinged before it is used.
const MAX_IDLE_UNTESTED: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub struct PoolSettings {
    pub url: String,
    pub application_name: String,
    pub max_connections: u32,
    /// How many connections stay open, see `Store::open_connections`.
    pub min_connections: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    /// How long to wait for locks of other transactions.
    pub lock_timeout: Duration,
}

impl PoolSettings {
    pub fn new(url: impl Into<String>, application_name: impl Into<String>, max_connections: u32) -> Self {
        Self {
            url: url.into(),
            application_name: application_name.into(),
            max_connections,
            min_connections: 0,
            acquire_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
        }
    }
}

/// Creates a pool that connects on first use, so that a daemon can start and report that it isn't ready
/// without a database.
pub fn connect(settings: &PoolSettings) -> Result<PgPool, StoreError> {
    let milliseconds = |timeout: Duration| format!("{}ms", timeout.as_millis());
    let options =
        PgConnectOptions::from_str(&settings.url)?.application_name(&settings.application_name).options([
            ("statement_timeout", milliseconds(settings.statement_timeout)),
            ("lock_timeout", milliseconds(settings.lock_timeout)),
            ("idle_in_transaction_session_timeout", "10s".to_owned()),
            ("timezone", "UTC".to_owned()),
            // Compiling a statement takes longer than running any of ours. Before a table's first analyze,
            // PostgreSQL overestimates the cost of small statements and would compile them.
            ("jit", "off".to_owned()),
            // Plans are cached, and are made for the table as it was last analyzed. A plan with a sequential
            // scan of a small table would stay in use while the table grows, until the next analyze.
            ("enable_seqscan", "off".to_owned()),
            ("random_page_cost", "1.1".to_owned()),
        ]);
    Ok(PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .min_connections(settings.min_connections)
        .acquire_timeout(settings.acquire_timeout)
        .max_lifetime(Duration::from_secs(30 * 60))
        // A ping before every query would cost each request a round trip. After an outage that the health check
        // has noticed, the whole pool is replaced. A restart of PostgreSQL can be shorter than the interval of
        // that check, and each connection would fail one request: the heartbeats of a job could fail until its
        // lease has expired. So connections that were not in use are pinged; under load, there are none.
        .test_before_acquire(false)
        .before_acquire(|connection, metadata| {
            Box::pin(async move {
                Ok(metadata.idle_for < MAX_IDLE_UNTESTED || connection.ping().await.is_ok())
            })
        })
        .connect_lazy_with(options))
}
