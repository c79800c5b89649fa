//! What an operator can set: a flag, or the environment variable of the same name.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    Json,
    Text,
}

#[derive(Clone, Debug, Args)]
pub struct LogConfig {
    /// What to log: `error`, `warn`, `info`, `debug`, or a filter such as `info,greenroom_store=debug`.
    #[arg(long = "log", env = "GREENROOM_LOG", default_value = "info", global = true)]
    pub filter: String,
    /// How to log.
    #[arg(
        long = "log-format",
        env = "GREENROOM_LOG_FORMAT",
        value_enum,
        default_value = "text",
        global = true
    )]
    pub format: LogFormat,
}

#[derive(Clone, Debug, Args)]
pub struct DatabaseConfig {
    /// PostgreSQL 15 or newer: `postgres://user:password@host:port/database`.
    #[arg(long, env = "GREENROOM_DATABASE_URL", hide_env_values = true)]
    pub database_url: String,
}

#[derive(Clone, Debug, Args)]
pub struct ListenConfig {
    /// How many database connections this server may open for requests.
    #[arg(long, env = "GREENROOM_DATABASE_CONNECTIONS", default_value_t = 16)]
    pub database_connections: u32,
    /// Where the API and the pages are served.
    #[arg(long, env = "GREENROOM_LISTEN", default_value = "127.0.0.1:7420")]
    pub listen: SocketAddr,
    /// For how many seconds a server that is told to stop says `not ready` before it stops accepting.
    #[arg(long, env = "GREENROOM_DRAIN_DELAY_SECONDS", default_value_t = 0)]
    pub drain_delay_seconds: u64,
    /// How many requests this server works on at once; more are answered 503.
    #[arg(long, env = "GREENROOM_MAX_IN_FLIGHT", default_value_t = 512)]
    pub max_in_flight: usize,
}

#[derive(Clone, Debug, Args)]
pub struct OperatorConfig {
    /// Where metrics and probes are served, for operators only.
    #[arg(long, env = "GREENROOM_METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,
}

#[derive(Clone, Debug, Args)]
pub struct RetentionConfig {
    /// For how many days events are kept.
    #[arg(long, env = "GREENROOM_EVENT_RETENTION_DAYS", default_value_t = 400)]
    pub event_retention_days: i32,
}
