//! Greenroom's SQL: the only crate that has any. One file per noun; each of its queries names the organization.
//! What has no organization (token look-up, sequencer, feed, housekeeping) is in `system`.

pub mod artifact;
pub mod cache;
pub mod change;
pub mod command;
mod definitions;
pub mod deployment;
pub mod engine;
pub mod environment;
pub mod environment_pool;
mod error;
pub mod event;
pub mod grant;
pub mod idempotency;
pub mod job;
mod lane;
pub mod lock;
pub mod log;
pub mod member;
pub mod object;
pub mod organization;
pub mod page;
mod patience;
pub mod pipeline;
mod pipeline_limit;
pub mod planted;
mod pool;
mod probe;
mod readiness;
pub mod runner;
pub mod runner_pool;
pub mod session;
pub mod session_ending;
pub mod system;
pub mod token;
pub mod turns;
pub mod waiting;

use std::sync::{Arc, PoisonError, RwLock};

use sqlx::PgPool;
use sqlx::migrate::Migrator;

pub use crate::change::{Actor, Change};
pub use crate::command::Command;
use crate::definitions::Definitions;
pub use crate::error::StoreError;
use crate::lane::Lane;
pub use crate::patience::within_patience;
pub use crate::pool::{PoolSettings, connect};
pub use crate::probe::probe;
pub use crate::readiness::{Reachability, Readiness};

pub static MIGRATOR: Migrator = sqlx::migrate!();

/// Reads outside of a command. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: Arc<RwLock<PgPool>>,
    lane: Arc<Lane>,
    definitions: Arc<Definitions>,
}

impl Store {
    pub fn new(pool: PgPool) -> Self {
        Self { pool: Arc::new(RwLock::new(pool)), lane: Arc::default(), definitions: Arc::default() }
    }

    /// The same database through other connections.
    #[must_use]
    pub fn through(&self, pool: PgPool) -> Self {
        let definitions = Arc::clone(&self.definitions);
        Self { pool: Arc::new(RwLock::new(pool)), lane: Arc::default(), definitions }
    }

    fn pool(&self) -> PgPool {
        self.pool.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Leaves the pool behind and begins with a new one. After an outage connections may be dead without knowing it, and
    /// so may places in the pool be: sqlx asks each connection that is given back whether it lives, and waits for the
    /// answer without a limit.
    pub fn renew(&self) {
        let mut pool = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        let fresh = pool.options().clone().connect_lazy_with((*pool.connect_options()).clone());
        *pool = fresh;
        self.lane.clear();
    }

    /// Connections in all, and how many of them are idle.
    pub fn connections(&self) -> (u32, usize) {
        let pool = self.pool();
        (pool.size(), pool.num_idle())
    }

    /// Whether a quarter of the connections that this pool may have is not in use.
    pub fn has_spare_connections(&self) -> bool {
        let pool = self.pool();
        let (max, open) = (pool.options().get_max_connections(), pool.size());
        let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
        max.saturating_sub(open).saturating_add(idle) >= (max / 4).max(1)
    }

    pub async fn close(&self) {
        self.lane.clear();
        self.pool().close().await;
    }
}
