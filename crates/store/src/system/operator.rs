//! Operator commands at the console for one organization: transactions without a principal, whose actor is
//! the operator.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId, PipelineId};
use greenroom_domain::slug::Slug;

use crate::deployment::final_statuses::query_with_final_statuses;
use crate::pipeline::PipelineName;
use crate::transaction::{Actor, OrgTransaction};
use crate::{Store, StoreError};

/// The deployments that occupy an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentWork {
    /// The deployment in the work slot: the only one that may act on the environment.
    pub in_slot: Option<DeploymentId>,
    /// The newest teardown that has not ended.
    pub teardown: Option<DeploymentId>,
}

#[boxed_futures]
impl Store {
    /// Opens a transaction for the organization with this slug. Returns `None` if there is none.
    pub async fn operator_transaction(
        &self,
        organization: &Slug,
    ) -> Result<Option<OrgTransaction>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let id = sqlx::query_scalar!("select id from organizations where slug = $1", organization.as_str())
            .fetch_optional(&mut *transaction)
            .await?;
        Ok(id.map(|id| OrgTransaction::new(transaction, OrganizationId::from(id), Actor::Operator, self)))
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Finds a pipeline by id, or by slug if it is not archived.
    pub async fn pipeline_id(&mut self, name: &PipelineName) -> Result<Option<PipelineId>, StoreError> {
        let organization = self.organization();
        let found = sqlx::query_scalar!(
            "select id from pipelines
             where organization_id = $1 and (id = $2 or (slug = $3 and status <> 'archived'))",
            organization,
            name.id(),
            name.slug(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(found.map(PipelineId::from))
    }

    pub async fn environment_work(
        &mut self,
        environment: greenroom_domain::id::EnvironmentId,
    ) -> Result<EnvironmentWork, StoreError> {
        let organization = self.organization();
        let row = query_with_final_statuses!(
            sqlx::query,
            [
                r#"select e.slot_deployment_id as slot,
                      (select d.id from deployments d
                       where d.organization_id = $1 and d.environment_id = e.id and d.purpose = 'teardown'
                         and d.status not in "#,
                r#"
                       order by d.id desc limit 1) as teardown
               from environments e where e.organization_id = $1 and e.id = $2"#
            ],
            organization,
            environment.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(EnvironmentWork {
            in_slot: row.slot.map(DeploymentId::from),
            teardown: row.teardown.map(DeploymentId::from),
        })
    }
}
