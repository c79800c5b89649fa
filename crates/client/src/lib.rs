//! A client of Greenroom's API: typed calls with timeouts, and errors that are classified by what the caller
//! can do. It never retries: that is up to the caller.

mod connection;
mod error;
pub mod runner;
mod transfer;

pub use self::connection::{Connection, Settings};
pub use self::error::{Error, RUNNER_REVOKED, Result, UNEXPECTED_RESPONSE};
pub use self::runner::{Appended, JobClient, RunnerClient};
