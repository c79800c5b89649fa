//! The runner: asks the server for jobs and carries them out. It speaks HTTPS to the server and to nobody else of
//! Greenroom, decides nothing about who may do what, and stops when it is not sure that it may go on.
//!
//! - [`runner`]: takes jobs, as many as there are [`slots`];
//! - [`job`]: carries one out;
//! - [`backend`]: where its steps run;
//! - [`log`]: what they say, on its way to the server;
//! - [`checkout`], [`archive`]: what they work on.

pub mod archive;
pub mod backend;
pub mod checkout;
pub mod config;
pub mod job;
pub mod log;
pub mod runner;
pub mod slots;
pub mod telemetry;
