//! Tests of single items that need neither a server nor a database.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod bundle;
mod client_address;
mod counts;
mod environment;
mod environment_list;
mod exceeded;
mod failure;
mod heartbeat_throttle;
mod issuer_keys;
mod known_names;
mod limit_settings;
mod limits;
mod line_finder;
mod log_tail;
mod next_action;
mod oidc;
mod password_hash;
mod protection;
mod provider;
mod public_url;
mod rate;
mod shares;
mod step_diff;
mod tries;
