//! Whole jobs: a real runner, real steps, and a test server over real HTTP that can be slow, be unavailable,
//! or reject requests.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

#[path = "../support/mod.rs"]
mod support;

mod cancel;
mod credentials;
mod drain;
mod dummy;
mod id_tokens;
mod lease;
mod log;
mod materials;
mod outage;
mod outputs;
mod program;
mod registry_steps;
mod revoked;
mod secrets;
mod steps;
