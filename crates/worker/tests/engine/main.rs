//! Workflows, jobs and wake-ups on a real Temporal server, in a namespace per test. Only the store is scripted. The
//! forge client (`forge`) and single items (`units`) are tested without an engine. All tests are in one binary, because
//! linking the SDK takes minutes per binary, and none is in `src`, because cargo would compile the whole crate again for
//! them.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may")]

mod cost;
mod faults;
mod fixture;
mod forge;
mod history;
mod installations;
mod jobs;
mod own_temporal;
mod relay;
mod replay;
mod scripted_store;
mod temporal;
mod units;
mod wake_ups;
