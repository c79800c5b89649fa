//! Workflows, jobs and wake-ups on a real Temporal server; each test starts its own. Only the store is
//! scripted. All tests are in one binary, because linking the SDK takes minutes per binary.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod cost;
mod faults;
mod fixture;
mod history;
mod installations;
mod jobs;
mod relay;
mod replay;
mod scripted_store;
mod temporal;
mod wake_ups;
