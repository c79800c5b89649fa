//! Lists of deployments, and the newest deployments of pipelines, environments and sessions.

use std::collections::HashMap;

use greenroom_domain::id::{EnvironmentId, OrganizationId, PipelineId, SessionId};
use greenroom_domain::token_grant::PipelineLimit;

use super::record::{DeploymentRecord, Row, record_query};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

/// Conditions on deployments. All conditions that are given have to match.
#[derive(Clone, Debug, Default)]
pub struct DeploymentFilter {
    pub pipeline: Option<PipelineId>,
    /// A text that is not a status matches no deployment.
    pub status: Option<String>,
    pub environment: Option<String>,
    pub commit_id: Option<String>,
    /// Only deployments of pipelines that the token has access to.
    pub within: PipelineLimit,
}

impl Store {
    /// Returns the newest deployment of each of these pipelines that is not a teardown.
    pub async fn last_of_pipelines(
        &self,
        organization: OrganizationId,
        pipelines: &[PipelineId],
    ) -> Result<Vec<DeploymentRecord>, StoreError> {
        let ids: Vec<uuid::Uuid> = pipelines.iter().map(|id| id.uuid()).collect();
        let rows = record_query!(
            "unnest($2::uuid[]) as asked (id)
             cross join lateral (select * from deployments o
                 where o.organization_id = $1 and o.pipeline_id = asked.id and o.purpose <> 'teardown'
                 order by o.id desc limit 1) d",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        self.with_stages(organization, rows).await
    }

    /// Returns the newest deployment of each of these environments that is not a teardown.
    pub async fn last_of_environments(
        &self,
        organization: OrganizationId,
        environments: &[EnvironmentId],
    ) -> Result<HashMap<EnvironmentId, DeploymentRecord>, StoreError> {
        let ids: Vec<uuid::Uuid> = environments.iter().map(|id| id.uuid()).collect();
        let rows = record_query!(
            "unnest($2::uuid[]) as asked (id)
             cross join lateral (select * from deployments o
                 where o.organization_id = $1 and o.environment_id = asked.id and o.purpose <> 'teardown'
                 order by o.id desc limit 1) d",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        let found = self.with_stages(organization, rows).await?.into_iter();
        Ok(found.filter_map(|record| Some((record.environment.as_ref()?.0, record))).collect())
    }

    /// Returns the deployments of a session, newest first.
    pub async fn deployments_of_session(
        &self,
        organization: OrganizationId,
        session: SessionId,
    ) -> Result<Vec<DeploymentRecord>, StoreError> {
        let by_session = self.deployments_of_sessions(organization, &[session]).await?;
        Ok(by_session.into_values().next().unwrap_or_default())
    }

    /// Returns up to 100 deployments of each session, newest first.
    pub async fn deployments_of_sessions(
        &self,
        organization: OrganizationId,
        sessions: &[SessionId],
    ) -> Result<HashMap<SessionId, Vec<DeploymentRecord>>, StoreError> {
        if sessions.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<uuid::Uuid> = sessions.iter().map(|id| id.uuid()).collect();
        let rows = record_query!(
            "unnest($2::uuid[]) as asked (id)
             cross join lateral (select * from deployments o
                 where o.organization_id = $1 and o.session_id = asked.id order by o.id desc limit 100) d",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut of: HashMap<SessionId, Vec<DeploymentRecord>> = HashMap::new();
        for record in self.with_stages(organization, rows).await? {
            if let Some(session) = record.session_id {
                of.entry(session).or_default().push(record);
            }
        }
        Ok(of)
    }

    /// Returns the deployments that match the filter, newest first.
    pub async fn deployment_records(
        &self,
        organization: OrganizationId,
        filter: &DeploymentFilter,
        page: Page,
    ) -> Result<PageResult<DeploymentRecord>, StoreError> {
        let within = limit_ids(&filter.within);
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from deployments o
                   where o.organization_id = $1 and ($2::uuid is null or o.pipeline_id = $2)
                     and ($3::text is null or o.status = $3) and ($4::text is null or o.commit_id like $4 || '%')
                     and ($5::text is null or o.environment_id in (select e.id from environments e
                         where e.organization_id = $1 and e.name = $5))
                     and ($7::uuid[] is null or o.pipeline_id = any($7))
                   limit $6
               ) counted"#,
            organization.uuid(),
            filter.pipeline.map(PipelineId::uuid),
            filter.status,
            filter.commit_id,
            filter.environment,
            MAX_COUNT + 1,
            within.as_deref(),
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = record_query!(
            "(select * from deployments o
              where o.organization_id = $1 and ($2::uuid is null or o.pipeline_id = $2)
                and ($3::text is null or o.status = $3) and ($4::text is null or o.commit_id like $4 || '%')
                and ($5::text is null or o.environment_id in (select e.id from environments e
                    where e.organization_id = $1 and e.name = $5))
                and ($8::uuid[] is null or o.pipeline_id = any($8))
              order by o.id desc limit $6 offset $7) d",
            organization.uuid(),
            filter.pipeline.map(PipelineId::uuid),
            filter.status,
            filter.commit_id,
            filter.environment,
            page.limit,
            page.offset,
            within.as_deref(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(PageResult { rows: self.with_stages(organization, rows).await?, total: Total::counted(total) })
    }
}
