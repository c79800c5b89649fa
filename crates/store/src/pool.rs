//! The connection pool: short waits, so that a slow or silent database is noticed in seconds and not in minutes.

use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};

use crate::StoreError;

/// Long for a network of one's own, short for whoever waits behind a pool full of dead connections.
const TAKEN: Duration = Duration::from_millis(300);
const RELEASED: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct PoolSettings {
    pub url: String,
    pub application_name: &'static str,
    pub max_connections: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    /// How long to wait for others' locks.
    pub lock_timeout: Duration,
    /// What is known of the database. A connection that lived through an outage must prove itself before it is used or
    /// kept: it may be one that nobody answers on, and would hang for as long as TCP is patient.
    pub reachability: Reachability,
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
            reachability: Reachability::default(),
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
    let reachability = settings.reachability.clone();
    Ok(PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(settings.acquire_timeout)
        .max_lifetime(Duration::from_secs(30 * 60))
        // A ping before every query would cost each request a round trip.
        .test_before_acquire(false)
        .before_acquire(move |connection, meta| {
            let distrusted = reachability.distrusts(meta.idle_for);
            Box::pin(async move { if distrusted { prove(connection, TAKEN).await } else { Ok(true) } })
        })
        // sqlx pings what is given back, and waits for the answer without a limit; asking first, with one, keeps a
        // connection that nobody answers on from holding its place in the pool for ever.
        .after_release(|connection, _| Box::pin(prove(connection, RELEASED)))
        .connect_lazy_with(options))
}

async fn prove(connection: &mut PgConnection, patience: Duration) -> Result<bool, sqlx::Error> {
    match tokio::time::timeout(patience, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

/// Whether the database answers, and since when it does so again. Cheap to clone; said by who watches the database.
#[derive(Clone, Debug, Default)]
pub struct Reachability(Arc<Mutex<Since>>);

#[derive(Debug, Default)]
struct Since {
    /// When the last outage was over; `None` while there is one, and before the first answer.
    reachable: Option<Instant>,
}

impl Reachability {
    pub fn is_reachable(&self) -> bool {
        self.since().reachable.is_some()
    }

    /// Says how it is; answers how it was.
    pub fn set(&self, reachable: bool) -> bool {
        let mut since = self.since();
        let before = since.reachable.is_some();
        if before != reachable {
            since.reachable = reachable.then(Instant::now);
        }
        before
    }

    /// Whether a connection that was idle for so long may have died in an outage.
    fn distrusts(&self, idle_for: Duration) -> bool {
        self.since().reachable.is_none_or(|since| idle_for >= since.elapsed())
    }

    fn since(&self) -> MutexGuard<'_, Since> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
