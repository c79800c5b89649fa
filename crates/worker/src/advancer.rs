//! Advances deployments by the store, for the workflows.

use std::error::Error;
use std::time::Duration;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_engine::DeploymentAdvancer;
use greenroom_store::engine::Advance;
use greenroom_store::{Store, with_db_timeout};
use greenroom_traces::Beginning;
use greenroom_workflows::contract::{Advanced, AdvancedJob};

use crate::evidence::EvidenceBell;
use crate::relay::RelayBell;
use crate::trace;

/// The store, the bell of the relay, which delivers the wake-ups that an advance writes, and that of the collector of evidence.
pub struct StoreAdvancer {
    pub store: Store,
    pub bell: RelayBell,
    pub evidence_bell: EvidenceBell,
}

impl DeploymentAdvancer for StoreAdvancer {
    fn advance(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advanced>, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let beginning = Beginning::now();
            let advance = with_db_timeout(self.store.advance_deployment(organization, deployment)).await?;
            drop(trace::span(&self.store, organization, deployment, beginning, "advance deployment").await);
            if advance.as_ref().is_some_and(|advance| advance.has_wake_ups) {
                self.bell.ring();
            }
            if advance.as_ref().is_some_and(|advance| advance.has_due_failures) {
                self.evidence_bell.ring();
            }
            Ok(advance.map(advanced))
        })
    }
}

/// Returns the length of a timer. One that is longer than the type can hold would never fire either.
fn timer_millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

fn advanced(advance: Advance) -> Advanced {
    Advanced {
        ended: advance.ended,
        missing: false,
        dispatch: advance
            .dispatch
            .iter()
            .map(|job| AdvancedJob { job_id: job.job_id, pool_id: job.pool_id })
            .collect(),
        withdrawn: advance.withdrawn,
        again_in_millis: advance.again_in.map(timer_millis),
    }
}
