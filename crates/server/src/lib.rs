//! Greenroom's server: the API, and what the daemon `greenroomd` is made of.
//! `app` has the use cases, `http` turns them into the API and knows nothing of SQL.

pub mod admin;
pub mod app;
pub mod config;
pub mod daemon;
pub mod give_up;
pub mod http;
pub mod limits;
pub mod serve;
pub mod telemetry;
mod write_timeout;
