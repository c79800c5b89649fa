//! The workflows' activities, implemented by a `DeploymentAdvancer`.

use std::error::Error;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_workflows::contract::{self, Advanced, Subject};
use temporalio_common::ActivityDefinition;
use temporalio_sdk::activities::{
    ActivityContext, ActivityDefinitions, ActivityError, ActivityImplementer, ExecutableActivity,
};

/// Advances a deployment as far as possible: the store, or a test's script. Returns `None` if there is no
/// such deployment.
pub trait DeploymentAdvancer: Send + Sync + 'static {
    fn advance(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advanced>, Box<dyn Error + Send + Sync>>>;
}

pub(crate) struct Activities(pub Arc<dyn DeploymentAdvancer>);

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
                Ok(Some(advanced)) => Ok(advanced),
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
