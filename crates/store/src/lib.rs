//! Greenroom's SQL. No other crate contains any. There is one file per noun, and every query filters by
//! organization. Queries across organizations (token lookup, sequencer, feed, housekeeping) are in `system`.

pub mod analysis;
pub mod approval;
pub mod artifact;
pub mod cache;
pub mod command;
pub mod compute_limit;
mod connection_cache;
mod db_timeout;
mod definitions;
pub mod deployment;
mod dispatch;
pub mod engine;
pub mod environment;
pub mod environment_definition;
pub mod environment_list;
pub mod environment_pool;
mod error;
pub mod event;
pub mod failure;
pub mod fix;
pub mod forge;
pub mod freeze;
pub mod grant;
pub mod group;
pub mod idempotency;
pub mod job;
mod known_names;
pub mod lasting_environment;
pub mod live_session;
pub mod lock;
pub mod log;
pub mod log_lines;
pub mod member;
pub mod model;
pub mod notice;
pub mod object;
pub mod organization;
pub mod organization_key;
pub mod page;
pub mod pipeline;
mod pipeline_limit;
mod pool;
mod probe;
mod readiness;
pub mod role_grant;
pub mod runner;
pub mod runner_pool;
pub mod secret;
pub mod service_account;
pub mod session;
pub mod session_ending;
pub mod step_registry;
pub mod summary;
pub mod system;
pub mod token;
mod token_columns;
pub mod token_exchange;
pub mod trace;
pub mod transaction;
pub mod trust_policy;
pub mod waiting;

use std::sync::{Arc, PoisonError, RwLock};

use greenroom_boxed_futures::boxed_futures;
use sqlx::PgPool;
use sqlx::migrate::Migrator;

pub use crate::command::Command;
use crate::connection_cache::ConnectionCache;
pub use crate::db_timeout::with_db_timeout;
use crate::definitions::Definitions;
pub use crate::error::StoreError;
pub use crate::pool::{PoolSettings, connect};
pub use crate::probe::probe;
pub use crate::readiness::{Reachability, Readiness};
pub use crate::transaction::{Actor, OrgTransaction};

/// For the tests of this crate, which are in `tests/`. Nothing else may use it.
#[doc(hidden)]
pub mod internals {
    pub use crate::deployment::list::id_bounds;
    pub use crate::deployment::planning::PlanKey;
}

pub static MIGRATOR: Migrator = sqlx::migrate!();

/// Entry point to the database: opens transactions, and runs single statements outside of them. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: Arc<RwLock<PgPool>>,
    connection_cache: Arc<ConnectionCache>,
    definitions: Arc<Definitions>,
}

/// The connections of a store's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCounts {
    pub open: u32,
    /// How many of the open connections are idle.
    pub idle: usize,
}

#[boxed_futures]
impl Store {
    pub fn new(pool: PgPool) -> Self {
        Self {
            pool: Arc::new(RwLock::new(pool)),
            connection_cache: Arc::default(),
            definitions: Arc::default(),
        }
    }

    /// Returns a store for the same database that uses another connection pool.
    #[must_use]
    pub fn with_pool(&self, pool: PgPool) -> Self {
        let definitions = Arc::clone(&self.definitions);
        Self { pool: Arc::new(RwLock::new(pool)), connection_cache: Arc::default(), definitions }
    }

    fn pool(&self) -> PgPool {
        self.pool.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the connection pool by a new one. After an outage, connections may be dead without having
    /// been closed, and pool slots may be stuck: sqlx pings each connection that is returned to the pool, and
    /// waits for the response without a timeout.
    pub fn replace_pool(&self) {
        let mut pool = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        let new_pool = pool.options().clone().connect_lazy_with((*pool.connect_options()).clone());
        *pool = new_pool;
        self.connection_cache.clear();
    }

    /// Opens the connections that the pool keeps open. Under load, opening one can take longer than a request
    /// waits for a connection: PostgreSQL starts a process for each and verifies the password.
    pub async fn open_connections(&self) -> Result<(), StoreError> {
        let pool = self.pool();
        let min = pool.options().get_min_connections();
        let mut opened = Vec::new();
        while pool.size() < min {
            opened.push(pool.acquire().await?);
        }
        Ok(())
    }

    pub fn connections(&self) -> ConnectionCounts {
        let pool = self.pool();
        ConnectionCounts { open: pool.size(), idle: pool.num_idle() }
    }

    /// Returns whether at least a quarter of the pool's maximum connections is not in use.
    pub fn has_spare_connections(&self) -> bool {
        let pool = self.pool();
        let (max, open) = (pool.options().get_max_connections() as usize, pool.size() as usize);
        max.saturating_sub(open) + pool.num_idle() >= (max / 4).max(1)
    }

    pub async fn close(&self) {
        self.connection_cache.clear();
        self.pool().close().await;
    }
}
