//! The runner: acquires jobs from the server and runs them. It only connects to the server's HTTPS API, makes
//! no authorization decisions, and kills a step when it can't be sure that it still holds the lease.
//!
//! - [`runner`]: acquires jobs, as many as there are [`slots`];
//! - [`job`]: runs one job;
//! - [`backend`]: runs the steps in containers or processes;
//! - [`liveness`]: what systemd and health checks see;
//! - [`log`]: ships the steps' output to the server;
//! - [`checkout`], [`archive`]: fill the workspace;
//! - [`step_archive`]: verifies and keeps the files of steps of registries;
//! - [`credential`]: what the runner itself needs to fetch a repository and to pull images.

pub mod archive;
pub mod backend;
pub mod checkout;
pub mod config;
pub mod credential;
mod error_chain;
pub mod job;
pub mod liveness;
pub mod log;
pub mod runner;
pub mod slots;
pub mod step_archive;
pub mod stop;
pub mod telemetry;
