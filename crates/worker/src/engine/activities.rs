//! The workflows' activities, implemented by the store.

use std::error::Error;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_store::engine::Advance;
use greenroom_store::{Store, with_db_timeout};
use greenroom_workflows::contract::{self, Advanced, AdvancedJob, Subject};
use temporalio_common::ActivityDefinition;
use temporalio_sdk::activities::{
    ActivityContext, ActivityDefinitions, ActivityError, ActivityImplementer, ExecutableActivity,
};

use crate::evidence::EvidenceBell;
use crate::relay::RelayBell;

/// Advances a deployment as far as possible: the store, or a test's script. Returns `None` if there is no
/// such deployment.
pub trait DeploymentAdvancer: Send + Sync + 'static {
    fn advance(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advance>, Box<dyn Error + Send + Sync>>>;
}

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
    ) -> BoxFuture<'_, Result<Option<Advance>, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let advance = with_db_timeout(self.store.advance_deployment(organization, deployment)).await?;
            if advance.as_ref().is_some_and(|advance| advance.has_wake_ups) {
                self.bell.ring();
            }
            if advance.as_ref().is_some_and(|advance| advance.has_due_failures) {
                self.evidence_bell.ring();
            }
            Ok(advance)
        })
    }
}

pub(super) struct Activities(pub Arc<dyn DeploymentAdvancer>);

impl ActivityImplementer for Activities {
    fn register_all(self: Arc<Self>, definitions: &mut ActivityDefinitions) {
        definitions.register_activity::<AdvanceFromStore>(self);
    }
}

/// The implementation of [`contract::Advance`], with the types of the contract.
struct AdvanceFromStore;

impl ActivityDefinition for AdvanceFromStore {
    type Input = <contract::Advance as ActivityDefinition>::Input;
    type Output = <contract::Advance as ActivityDefinition>::Output;

    fn name(&self) -> &str {
        greenroom_workflows::names::ADVANCE
    }
}

impl ExecutableActivity for AdvanceFromStore {
    type Implementer = Activities;
    const REQUIRES_INSTANCE: bool = true;

    fn definition() -> Self {
        Self
    }

    fn execute(
        activities: Option<Arc<Activities>>,
        _ctx: ActivityContext,
        subject: Subject,
    ) -> BoxFuture<'static, Result<Advanced, ActivityError>> {
        Box::pin(async move {
            let Some(activities) = activities else { return Err(AdvanceFailed.into()) };
            match activities.0.advance(subject.organization_id, subject.deployment_id).await {
                Ok(Some(advance)) => Ok(advanced(advance)),
                Ok(None) => {
                    tracing::error!(
                        organization = %subject.organization_id,
                        deployment = %subject.deployment_id,
                        "a workflow was started for a deployment that is not in this database; it fails"
                    );
                    metrics::counter!("greenroom_engine_missing_deployments_total").increment(1);
                    Ok(Advanced { missing: true, ..Advanced::default() })
                }
                Err(error) => {
                    // The reason is only logged: what an activity returns is stored in the workflow's
                    // history.
                    tracing::warn!(
                        error = &*error as &dyn Error,
                        deployment = %subject.deployment_id,
                        "could not advance a deployment; retrying"
                    );
                    metrics::counter!("greenroom_engine_unanswered_total").increment(1);
                    Err(AdvanceFailed.into())
                }
            }
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the store did not answer")]
struct AdvanceFailed;

/// Returns the length of a timer. One that is longer than the type can hold would never fire either.
fn timer_millis(wait: std::time::Duration) -> u64 {
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
