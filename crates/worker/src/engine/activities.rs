//! Answers workflows' questions from the store.

use std::error::Error;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_store::engine::Advance;
use greenroom_store::{Store, within_patience};
use greenroom_workflows::contract::{self, Advanced, AdvancedJob, Subject};
use temporalio_common::ActivityDefinition;
use temporalio_sdk::activities::{
    ActivityContext, ActivityDefinitions, ActivityError, ActivityImplementer, ExecutableActivity,
};

use crate::relay::RelayBell;

/// Whoever can take a deployment as far as it goes: the store, or a test's script. `None`: there is no such deployment.
pub trait Advances: Send + Sync + 'static {
    fn advance(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advance>, Box<dyn Error + Send + Sync>>>;
}

/// The store, and the relay that delivers what its answers wake.
pub struct AskedStore {
    pub store: Store,
    pub bell: RelayBell,
}

impl Advances for AskedStore {
    fn advance(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advance>, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let advance = within_patience(self.store.advance_deployment(organization, deployment)).await?;
            if advance.as_ref().is_some_and(|advance| advance.woke) {
                self.bell.ring();
            }
            Ok(advance)
        })
    }
}

pub(super) struct Activities(pub Arc<dyn Advances>);

impl ActivityImplementer for Activities {
    fn register_all(self: Arc<Self>, definitions: &mut ActivityDefinitions) {
        definitions.register_activity::<AdvanceFromStore>(self);
    }
}

/// [`contract::Advance`], with something behind it. Its types are the contract's by declaration.
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
            let Some(activities) = activities else { return Err(NotAnswered.into()) };
            let answer = activities.0.advance(subject.organization_id, subject.deployment_id).await;
            match answer {
                Ok(Some(advance)) => Ok(advanced(advance)),
                Ok(None) => {
                    tracing::error!(
                        organization = %subject.organization_id,
                        deployment = %subject.deployment_id,
                        "a workflow was started for a deployment that is not in this database; the workflow fails"
                    );
                    metrics::counter!("greenroom_engine_missing_deployments_total").increment(1);
                    Ok(Advanced { missing: true, ..Advanced::default() })
                }
                Err(error) => {
                    // The reason stays here: what an activity answers goes into the workflow's history.
                    tracing::warn!(
                        error = &*error as &dyn Error,
                        deployment = %subject.deployment_id,
                        "the store did not say how a deployment goes on; it is asked again"
                    );
                    metrics::counter!("greenroom_engine_unanswered_total").increment(1);
                    Err(NotAnswered.into())
                }
            }
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the store did not answer")]
struct NotAnswered;

fn advanced(advance: Advance) -> Advanced {
    let millis = |wait: std::time::Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    Advanced {
        ended: advance.ended,
        missing: false,
        dispatch: advance
            .dispatch
            .iter()
            .map(|job| AdvancedJob { job_id: job.job_id, pool_id: job.pool_id })
            .collect(),
        withdrawn: advance.withdrawn,
        again_in_millis: advance.again_in.map(millis),
    }
}
