//! What an operator does at the console to one organization: a change without a principal, told as the operator's.

use greenroom_domain::id::{DeploymentId, OrganizationId, PipelineId};
use greenroom_domain::slug::Slug;

use crate::change::{Actor, Change};
use crate::pipeline::PipelineName;
use crate::{Store, StoreError};

impl Store {
    /// Opens a change of the organization with this slug; `None` if there is none.
    pub async fn change_by_operator(&self, organization: &Slug) -> Result<Option<Change>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let id = sqlx::query_scalar!("select id from organizations where slug = $1", organization.as_str())
            .fetch_optional(&mut *transaction)
            .await?;
        Ok(id.map(|id| Change::new(transaction, OrganizationId::from(id), Actor::Operator, self)))
    }
}

impl Change {
    /// A pipeline by id, or by the slug of one that is not archived.
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

    /// What has an environment's work slot, and the environment's newest teardown that has not ended.
    pub async fn work_of(
        &mut self,
        environment: greenroom_domain::id::EnvironmentId,
    ) -> Result<(Option<DeploymentId>, Option<DeploymentId>), StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select e.slot_deployment_id as slot,
                      (select d.id from deployments d
                       where d.organization_id = $1 and d.environment_id = e.id and d.purpose = 'teardown'
                         and d.status not in ('succeeded', 'failed', 'errored', 'canceled', 'superseded')
                       order by d.id desc limit 1) as teardown
               from environments e where e.organization_id = $1 and e.id = $2"#,
            organization,
            environment.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok((row.slot.map(DeploymentId::from), row.teardown.map(DeploymentId::from)))
    }
}
