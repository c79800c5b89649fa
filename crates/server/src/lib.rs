//! Greenroom's server: the API, and the commands of the daemon `greenroomd`.
//! `app` has the use cases; `http` maps them to the API and contains no SQL.

pub mod admin;
pub mod app;
pub mod config;
pub mod daemon;
pub mod give_up;
pub mod http;
pub mod limits;
pub mod secret_keys;
pub mod serve;
pub mod telemetry;
mod write_timeout;
