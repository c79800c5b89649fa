//! What has no organization: finding out who asks, giving events their order, and keeping house. Every query here is
//! listed in `tests/organization_wall.rs`, which lets no other do without an organization.

pub mod attendance;
pub mod bootstrap;
pub mod cleanup;
pub mod expiry;
pub mod feed;
pub mod housekeeping;
pub mod installation;
pub mod log;
pub mod migrate;
pub mod object;
pub mod operator;
pub mod runner;
pub mod sequencer;
pub mod session_ending;
pub mod sweeper;
pub mod token;
pub mod wake;
pub mod watchdog;
