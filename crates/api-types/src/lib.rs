//! The types of the API: requests, records, lists and problems. They contain no rules; those are in the domain.

pub mod browser_session;
pub mod cache;
pub mod deployment;
pub mod deployment_status;
pub mod envelope;
pub mod environment;
pub mod environment_pool;
pub mod event;
pub mod example;
pub mod handover;
pub mod log;
pub mod me;
pub mod member;
pub mod open_enum;
pub mod organization;
pub mod pipeline;
pub mod problem;
pub mod runner;
pub mod runner_pool;
pub mod session;
pub mod session_deployment;
pub mod session_ending;
pub mod sign_in;
pub mod summary;
pub mod token;
pub mod version;
