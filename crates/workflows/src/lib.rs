//! The Temporal workflow of a deployment, and the contract of its activities. The workflow calls the store,
//! dispatches jobs and waits. It makes no decisions and does no I/O, and waits only with the means of
//! Temporal.

mod backoff;
pub mod contract;
pub mod deployment;
mod jobs;
pub mod names;
mod wake_timer;

pub use crate::contract::{Advanced, AdvancedJob, RunStage, Subject};
pub use crate::deployment::DeploymentWorkflow;

/// For the tests of this crate, which are in `tests/`. Nothing else may use it.
#[doc(hidden)]
pub mod internals {
    pub use crate::backoff::{MAX_DELAY, delay_after};
    pub use crate::jobs::{Jobs, OpenActivity};
    pub use crate::wake_timer::{MIN_DELAY, WakeTimer};
}
