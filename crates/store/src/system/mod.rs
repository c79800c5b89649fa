//! Queries across organizations: authentication, event sequencing and background tasks. Every query here is
//! listed in `tests/organization_wall`, which rejects all other queries without an organization.

pub mod analysis;
pub mod bootstrap;
pub mod browser_session;
pub mod cleanup;
pub mod deployment_progress;
pub mod expiry;
pub mod failure;
pub mod feed;
pub mod fix;
pub mod housekeeping;
pub mod identity;
pub mod installation;
pub mod log;
pub mod migrate;
pub mod object;
pub mod operator;
pub mod organization_key;
pub mod password;
pub mod runner;
pub mod sequencer;
pub mod session_ending;
pub mod sign_in;
pub mod sign_in_link;
pub mod signing_key;
pub mod step_registry;
pub mod sweeper;
pub mod token;
pub mod token_exchange;
pub mod wake_up;
pub mod watchdog;
pub mod watcher;
