//! The connection pools of a daemon.

use std::time::Duration;

use anyhow::Context;
use greenroom_store::system::migrate::application_name;
use greenroom_store::{PoolSettings, Reachability, Store, connect};

use crate::config::DatabaseConfig;

/// For the sequencer, the feed, the checks of stream rights, the heartbeats of watchers, the relay, the
/// database health check, and tasks that run now and then, such as housekeeping.
const SYSTEM_CONNECTIONS: u32 = 7;
/// In a process that is also a worker, in addition: for the sweeper, the watchdog, and tasks that run now and then.
const WORK_CONNECTIONS: u32 = 3;
/// Requests wait longer for a reserved connection than for a general one, and use it for a shorter time: they
/// wait for a row lock for at most a second, so that even if all reserved connections wait for locks, one is
/// free again soon.
const RESERVED_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
const RESERVED_LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const RESERVED_STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);
const BAD_URL: &str = "GREENROOM_DATABASE_URL is not a PostgreSQL address";

/// Connection pools for requests and for background tasks, so that neither can starve the other.
pub struct Databases {
    pub requests: Store,
    /// For requests that keep locks and jobs alive.
    pub reserved: Store,
    pub system: Store,
    /// For advancing deployments, in a process that is both server and worker. A worker alone uses `requests`.
    pub advancing: Option<Store>,
    pub health: Reachability,
}

/// How a process that is both server and worker divides `--database-connections`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionBudget {
    pub requests: u32,
    pub advances: u32,
}

impl ConnectionBudget {
    /// A quarter is for advancing deployments, `max_advances` at most, and the rest for requests. Both get one at least.
    pub fn divide(connections: u32, max_advances: u32) -> Self {
        let advances = (connections / 4).clamp(1, max_advances.max(1));
        Self { requests: connections.saturating_sub(advances).max(1), advances }
    }
}

impl Databases {
    /// The pools for requests open all of their connections before they are needed, and keep them open.
    pub fn open(
        config: &DatabaseConfig,
        request_connections: u32,
        reserved_connections: u32,
    ) -> anyhow::Result<Self> {
        Self::open_with(config, request_connections, reserved_connections, u32::MAX)
    }

    /// The pools of a process that is both server and worker.
    pub fn open_divided(
        config: &DatabaseConfig,
        budget: ConnectionBudget,
        reserved_connections: u32,
    ) -> anyhow::Result<Self> {
        let url = &config.database_url;
        let opened = Self::open(config, budget.requests, reserved_connections)?;
        let system = SYSTEM_CONNECTIONS + WORK_CONNECTIONS;
        let system =
            connect(&PoolSettings::new(url, application_name("greenroom"), system)).context(BAD_URL)?;
        let advancing = connect(&PoolSettings::new(url, application_name("greenroom"), budget.advances))
            .context(BAD_URL)?;
        let advancing = Some(opened.requests.with_pool(advancing));
        Ok(Self { system: Store::new(system), advancing, ..opened })
    }

    /// Like `open`, but a pool keeps no more than `min_connections` open, and opens others when they are
    /// needed. Each connection is a process of PostgreSQL, and most servers of tests need two of them.
    pub fn open_with(
        config: &DatabaseConfig,
        request_connections: u32,
        reserved_connections: u32,
        min_connections: u32,
    ) -> anyhow::Result<Self> {
        let reserved_connections = reserved_connections.max(1);
        let system =
            PoolSettings::new(&config.database_url, application_name("greenroom"), SYSTEM_CONNECTIONS);
        let requests = PoolSettings {
            max_connections: request_connections,
            min_connections: request_connections.min(min_connections),
            ..system.clone()
        };
        let reserved = PoolSettings {
            application_name: application_name("greenroom-reserved"),
            max_connections: reserved_connections,
            min_connections: reserved_connections.min(min_connections),
            acquire_timeout: RESERVED_ACQUIRE_TIMEOUT,
            lock_timeout: RESERVED_LOCK_TIMEOUT,
            statement_timeout: RESERVED_STATEMENT_TIMEOUT,
            ..system.clone()
        };
        let requests = Store::new(connect(&requests).context(BAD_URL)?);
        Ok(Self {
            reserved: requests.with_pool(connect(&reserved).context(BAD_URL)?),
            requests,
            system: Store::new(connect(&system).context(BAD_URL)?),
            advancing: None,
            health: Reachability::default(),
        })
    }
}
