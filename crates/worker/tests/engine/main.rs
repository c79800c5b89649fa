//! The engine's side of deployments, on a real Temporal server: each test starts one of its own. Only the store's answers
//! are scripted. One program for all of it, because each that links the SDK costs minutes.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod cost;
mod faults;
mod history;
mod installations;
mod jobs;
mod relay;
mod replay;
mod script;
mod site;
mod temporal;
mod wakes;
