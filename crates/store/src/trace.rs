//! The traces of deployments, which processes hand on to each other.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId};

use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[boxed_futures]
impl OrgTransaction {
    /// Records the trace of a deployment that this transaction creates.
    pub async fn record_trace(
        &mut self,
        deployment: DeploymentId,
        traceparent: &str,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into deployment_traces (organization_id, deployment_id, traceparent) values ($1, $2, $3)",
            organization,
            deployment.uuid(),
            traceparent,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

#[boxed_futures]
impl Store {
    /// Returns the `traceparent` of a deployment, if its request was traced.
    pub async fn traceparent(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> Result<Option<String>, StoreError> {
        let found = sqlx::query_scalar!(
            "select traceparent from deployment_traces where organization_id = $1 and deployment_id = $2",
            organization.uuid(),
            deployment.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(found)
    }
}
