//! The connection pool: short waits, so that a slow or silent database is noticed in seconds and not in minutes.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool};

use crate::StoreError;

const RELEASE_PING: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct PoolSettings {
    pub url: String,
    pub application_name: &'static str,
    pub max_connections: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    /// How long to wait for others' locks.
    pub lock_timeout: Duration,
    /// Set while the database does not answer. A connection given back then must prove itself before it is kept:
    /// without a bound it would hang in the pool for as long as TCP is patient.
    pub suspect: Arc<AtomicBool>,
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
            suspect: Arc::default(),
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
        ]);
    let suspect = Arc::clone(&settings.suspect);
    Ok(PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(settings.acquire_timeout)
        .max_lifetime(Duration::from_secs(30 * 60))
        // A dead connection is found by its first query, which is answered with 503; a ping before every query would
        // cost each request a round trip.
        .test_before_acquire(false)
        .after_release(move |connection, _| {
            let suspect = suspect.load(Ordering::Relaxed);
            Box::pin(async move {
                if suspect {
                    match tokio::time::timeout(RELEASE_PING, connection.ping()).await {
                        Ok(result) => result?,
                        Err(_) => return Err(sqlx::Error::PoolTimedOut),
                    }
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options))
}
