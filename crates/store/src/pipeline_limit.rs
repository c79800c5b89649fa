//! Lookups of the pipeline that something belongs to, for tokens that are limited to some pipelines.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{AnalysisId, ApprovalId, DeploymentId, FixId, OrganizationId, PipelineId};

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    pub async fn pipeline_of_deployment(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> Result<Option<PipelineId>, StoreError> {
        let pipeline = sqlx::query_scalar!(
            "select pipeline_id from deployments where organization_id = $1 and id = $2",
            organization.uuid(),
            deployment.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(pipeline.map(PipelineId::from))
    }

    pub async fn pipeline_of_analysis(
        &self,
        organization: OrganizationId,
        analysis: AnalysisId,
    ) -> Result<Option<PipelineId>, StoreError> {
        let pipeline = sqlx::query_scalar!(
            "select f.pipeline_id from analyses a join failures f on f.organization_id = $1 and f.id = a.failure_id
             where a.organization_id = $1 and a.id = $2",
            organization.uuid(),
            analysis.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(pipeline.map(PipelineId::from))
    }

    pub async fn pipeline_of_fix(
        &self,
        organization: OrganizationId,
        fix: FixId,
    ) -> Result<Option<PipelineId>, StoreError> {
        let pipeline = sqlx::query_scalar!(
            "select pipeline_id from fixes where organization_id = $1 and id = $2",
            organization.uuid(),
            fix.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(pipeline.map(PipelineId::from))
    }

    pub async fn pipeline_of_approval(
        &self,
        organization: OrganizationId,
        approval: ApprovalId,
    ) -> Result<Option<PipelineId>, StoreError> {
        let pipeline = sqlx::query_scalar!(
            "select pipeline_id from approvals where organization_id = $1 and id = $2",
            organization.uuid(),
            approval.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(pipeline.map(PipelineId::from))
    }
}
