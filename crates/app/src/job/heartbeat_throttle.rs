//! Remembers for which jobs a heartbeat was sent to the engine recently, so that not every heartbeat of a
//! runner is forwarded: for the engine each one is a write, and the lease in PostgreSQL decides. Each server
//! remembers this separately, so the engine may receive one heartbeat from each.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::JobId;
use greenroom_engine::HEARTBEAT_TIMEOUT;
use moka::future::Cache;

const MAX_JOBS: u64 = 100_000;
/// A heartbeat is forwarded this many times within the engine's heartbeat timeout.
const TIMEOUT_DIVISOR: u32 = 3;

pub struct HeartbeatThrottle(Cache<JobId, ()>);

impl Default for HeartbeatThrottle {
    fn default() -> Self {
        Self::with_interval(HEARTBEAT_TIMEOUT / TIMEOUT_DIVISOR)
    }
}

#[boxed_futures]
impl HeartbeatThrottle {
    /// Public for the tests in `tests/`.
    #[doc(hidden)]
    pub fn with_interval(interval: Duration) -> Self {
        Self(Cache::builder().max_capacity(MAX_JOBS).time_to_live(interval).build())
    }

    /// Records that the engine has received a heartbeat of the job.
    pub async fn record(&self, job: JobId) {
        self.0.insert(job, ()).await;
    }

    /// Returns whether the engine has received a heartbeat of the job within the interval.
    pub fn is_recent(&self, job: JobId) -> bool {
        self.0.contains_key(&job)
    }
}
