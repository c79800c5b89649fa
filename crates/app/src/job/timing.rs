//! How long a job's lease is, and the intervals that depend on it.

use std::time::Duration;

/// The lease of a job, and the intervals that depend on it.
#[derive(Clone, Copy, Debug)]
pub struct JobTiming {
    pub lease: Duration,
    pub heartbeat: Duration,
    /// How long a step continues without a sign of life from its runner. It is shorter than the time from the
    /// end of the lease until the job counts as lost.
    pub silence: Duration,
}

impl Default for JobTiming {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(60), heartbeat: seconds(5), silence: seconds(20) }
    }
}
