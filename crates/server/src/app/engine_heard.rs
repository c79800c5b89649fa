//! Which jobs the engine has heard of a moment ago, so that not every heartbeat of a runner goes on to it: for the engine
//! each is a write, and PostgreSQL's lease is what counts. Another server that does not know tells it once more.

use std::time::Duration;

use greenroom_domain::id::JobId;
use greenroom_worker::engine::HEARTBEAT_TIMEOUT;
use moka::future::Cache;

const REMEMBERED: u64 = 100_000;
/// After so much of its patience the engine is told again.
const SHARE: u32 = 3;

pub struct EngineHeard(Cache<JobId, ()>);

impl Default for EngineHeard {
    fn default() -> Self {
        Self::for_a(HEARTBEAT_TIMEOUT / SHARE)
    }
}

impl EngineHeard {
    fn for_a(moment: Duration) -> Self {
        Self(Cache::builder().max_capacity(REMEMBERED).time_to_live(moment).build())
    }

    pub async fn note(&self, job: JobId) {
        self.0.insert(job, ()).await;
    }

    pub fn knows(&self, job: JobId) -> bool {
        self.0.contains_key(&job)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn forgets_after_a_moment() {
        // Long and short, so that neither answer hangs on how busy the machine is.
        let (long, short) =
            (EngineHeard::for_a(Duration::from_secs(3_600)), EngineHeard::for_a(Duration::from_millis(1)));
        let job = Uuid::from_u128(1).into();
        assert!(!long.knows(job));
        long.note(job).await;
        assert!(long.knows(job));
        short.note(job).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!short.knows(job));
    }
}
