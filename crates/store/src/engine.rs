//! The store's interface for the workflow engine: advancing deployments, and wake-ups of their workflows. The
//! engine only drives deployments; all decisions are made here.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId};

use crate::deployment::Advanced;
pub use crate::dispatch::{Advance, Dispatch};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// A row of the outbox: notifies a deployment's workflow of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    pub id: i64,
    pub organization_id: OrganizationId,
    pub deployment_id: DeploymentId,
}

#[boxed_futures]
impl Store {
    /// Advances a deployment as far as possible, in one transaction. Idempotent, and safe to call
    /// concurrently. Returns `None` if the deployment does not exist.
    pub async fn advance_deployment(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> Result<Option<Advance>, StoreError> {
        let mut computed_plan = None;
        loop {
            let mut transaction = self.system_transaction(organization).await?;
            match transaction.advance(deployment, computed_plan.take()).await? {
                Advanced::Done(advance) => {
                    let has_wake_ups = transaction.has_wake_ups();
                    let has_due_failures = transaction.has_due_failures();
                    transaction.commit().await?;
                    return Ok(Some(Advance { has_wake_ups, has_due_failures, ..advance }));
                }
                Advanced::Missing => return Ok(None),
                Advanced::NeedsPlan(plan_key, definition) => {
                    // Planning evaluates the conditions (`if`) of the stages, which are tenants' code. That
                    // must not happen while rows are locked, so the transaction is dropped first. The next
                    // transaction uses the plan only if its inputs are unchanged. Of these, only the
                    // pipeline's slug and repository can change, so the loop rarely runs more than twice.
                    drop(transaction);
                    computed_plan = Some(plan_key.compute_on_own_thread(organization, definition).await?);
                }
            }
        }
    }
}

impl OrgTransaction {
    /// Adds a wake-up of the deployment's workflow to the outbox. It is delivered after the commit.
    pub(crate) async fn wake(&mut self, deployment: DeploymentId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into wakes (organization_id, deployment_id) values ($1, $2)",
            organization,
            deployment.uuid()
        )
        .execute(self.connection())
        .await?;
        self.mark_wake_up();
        Ok(())
    }
}
