//! Greenroom's server: the API, and the commands of the daemon `greenroomd`.
//! `http` maps the use cases of `greenroom-app` to the API and contains no SQL.

pub mod admin;
pub mod config;
pub mod daemon;
pub mod doctor;
pub mod give_up;
pub mod http;
#[doc(hidden)]
pub mod internals;
pub mod secret_keys;
pub mod serve;
mod service_manager;
pub mod telemetry;
pub mod tls;
pub mod verify;
