//! Tests of the parts of the workflow. They are not in `src`, because cargo would compile the whole crate again for
//! them.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod backoff;
mod contract;
mod jobs;
mod names;
mod wake_timer;
