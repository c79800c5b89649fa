//! What the workflow engine has to do for a deployment.

use std::time::Duration;

use greenroom_domain::id::{JobId, PoolId};

/// What the engine has to do for a deployment now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advance {
    /// The deployment has ended, so nothing is left to do.
    pub ended: bool,
    /// All jobs that wait for a runner, including those that were dispatched before.
    pub dispatch: Vec<Dispatch>,
    /// Jobs that were never assigned to a runner and no longer wait for one.
    pub withdrawn: Vec<JobId>,
    /// When to advance the deployment again, if there is no wake-up before.
    pub again_in: Option<Duration>,
    /// The transaction has added wake-ups of other deployments, which the relay has to deliver.
    pub has_wake_ups: bool,
    /// The transaction has made failures due, whose evidence a worker has to collect.
    pub has_due_failures: bool,
}

impl Advance {
    pub(crate) const ENDED: Self = Self {
        ended: true,
        dispatch: Vec::new(),
        withdrawn: Vec::new(),
        again_in: None,
        has_wake_ups: false,
        has_due_failures: false,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    pub job_id: JobId,
    pub pool_id: PoolId,
}
