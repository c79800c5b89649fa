//! A cache of connections for the fast path. The pool pings each connection that is returned to it, which
//! costs a round trip. For a command that consists of one statement, this would double the load of the
//! database. So a few connections that have just been used successfully are cached outside of the pool, only
//! for such statements.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

use crate::StoreError;

/// A connection that was unused for this long is returned to the pool, which manages idle connections.
const MAX_IDLE: Duration = Duration::from_secs(10);
/// A connection is returned to the pool after this time in any case, so that the pool can enforce its maximum
/// lifetime.
const MAX_CACHED: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct ConnectionCache {
    connections: Mutex<Vec<CachedConnection>>,
}

/// A connection in use. If it is dropped instead of put back into the cache, it returns to the pool, which
/// pings it.
#[derive(Debug)]
pub(crate) struct CachedConnection {
    pub(crate) connection: PoolConnection<Postgres>,
    acquired_at: Instant,
    used_at: Instant,
}

impl ConnectionCache {
    pub(crate) async fn acquire(&self, pool: &PgPool) -> Result<CachedConnection, StoreError> {
        if let Some(cached) = self.take_fresh() {
            return Ok(cached);
        }
        let now = Instant::now();
        Ok(CachedConnection { connection: pool.acquire().await?, acquired_at: now, used_at: now })
    }

    /// Takes the most recently used connection, so that surplus connections become idle.
    fn take_fresh(&self) -> Option<CachedConnection> {
        let mut connections = self.connections();
        let cached = connections.pop()?;
        if cached.used_at.elapsed() > MAX_IDLE {
            // All connections below it in the stack were idle for even longer.
            connections.clear();
            return None;
        }
        (cached.acquired_at.elapsed() < MAX_CACHED).then_some(cached)
    }

    /// Puts a connection back. Call this only after its statement has completed: an interrupted one may have
    /// left state behind.
    pub(crate) fn put_back(&self, cached: CachedConnection, max_cached: usize) {
        let mut connections = self.connections();
        if connections.len() < max_cached {
            connections.push(CachedConnection { used_at: Instant::now(), ..cached });
        }
    }

    pub(crate) fn clear(&self) {
        self.connections().clear();
    }

    fn connections(&self) -> MutexGuard<'_, Vec<CachedConnection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
