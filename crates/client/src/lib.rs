//! Greenroom's API for programs in Rust: typed calls, a time limit on each, and errors told apart by what the caller can
//! do about them. It tries nothing twice: how long to go on trying is the caller's to know.

mod connection;
mod error;
pub mod runner;
mod transfer;

pub use self::connection::{Connection, Settings};
pub use self::error::{Error, RUNNER_REVOKED, Result, UNEXPECTED_ANSWER};
pub use self::runner::{Appended, JobClient, RunnerClient};
