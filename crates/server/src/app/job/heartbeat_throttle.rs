//! Remembers for which jobs a heartbeat was sent to the engine recently, so that not every heartbeat of a
//! runner is forwarded: for the engine each one is a write, and the lease in PostgreSQL decides. Each server
//! remembers this separately, so the engine may receive one heartbeat from each.

use std::time::Duration;

use greenroom_domain::id::JobId;
use greenroom_worker::engine::HEARTBEAT_TIMEOUT;
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

impl HeartbeatThrottle {
    fn with_interval(interval: Duration) -> Self {
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_heartbeat_is_recent_until_the_interval_has_passed() {
        // A very long and a very short interval, so that neither result depends on how busy the machine is.
        let long = HeartbeatThrottle::with_interval(Duration::from_secs(3_600));
        let short = HeartbeatThrottle::with_interval(Duration::from_millis(1));
        let job = Uuid::from_u128(1).into();
        assert!(!long.is_recent(job));
        long.record(job).await;
        assert!(long.is_recent(job));
        short.record(job).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!short.is_recent(job));
    }
}
