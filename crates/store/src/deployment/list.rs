//! Lists of deployments, and the newest deployments of pipelines, environments and sessions.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId, UserId};
use greenroom_domain::text::CommitPrefix;
use greenroom_domain::token_grant::PipelineLimit;
use jiff::Timestamp;

use super::record::{DeploymentRecord, Row, record_query};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::pipeline::PipelineName;
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

/// Conditions on deployments. All conditions that are given have to match.
#[derive(Clone, Debug, Default)]
pub struct DeploymentFilter {
    pub pipeline: Option<PipelineName>,
    /// One of these.
    pub statuses: Option<Vec<String>>,
    pub environment: Option<String>,
    pub commit_id: Option<CommitPrefix>,
    pub created_by: Option<UserId>,
    /// Created at this time or later.
    pub from: Option<Timestamp>,
    /// Created before this time.
    pub to: Option<Timestamp>,
    /// Only deployments of pipelines that the token has access to.
    pub within: PipelineLimit,
}

/// How far the clock of the server that made an id may be from the database's clock.
const CLOCK_TOLERANCE_MS: i64 = 24 * 3_600 * 1_000;

/// Returns the ids between which all deployments are that were created in a period. An id begins with the
/// time at which it was made, so a period is a range of the primary key. The period itself is checked too.
pub fn id_bounds(from: Option<Timestamp>, to: Option<Timestamp>) -> (uuid::Uuid, uuid::Uuid) {
    const MAX_MS: i64 = (1 << 48) - 1;
    let time_bits = |ms: i64| u128::from(ms.clamp(0, MAX_MS).unsigned_abs()) << 80;
    let oldest = from.map_or(0, |from| time_bits(from.as_millisecond().saturating_sub(CLOCK_TOLERANCE_MS)));
    let newest = to.map_or(u128::MAX, |to| {
        time_bits(to.as_millisecond().saturating_add(CLOCK_TOLERANCE_MS)) | (u128::MAX >> 48)
    });
    (uuid::Uuid::from_u128(oldest), uuid::Uuid::from_u128(newest))
}

#[boxed_futures]
impl Store {
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
        let (pipeline, within) = (filter.pipeline.as_ref(), limit_ids(&filter.within));
        let (oldest, newest) = id_bounds(filter.from, filter.to);
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from deployments o
                   where o.organization_id = $1 and ($2::uuid is null or o.pipeline_id = $2)
                     and ($3::text[] is null or o.status = any($3)) and ($4::text is null or o.commit_id like $4 || '%')
                     and ($5::text is null or o.environment_id in (select e.id from environments e
                         where e.organization_id = $1 and e.name = $5))
                     and ($7::uuid[] is null or o.pipeline_id = any($7))
                     and ($8::text is null or o.pipeline_id in (select p.id from pipelines p
                         where p.organization_id = $1 and p.slug = $8 and p.status <> 'archived'))
                     and ($9::uuid is null or o.created_by = $9)
                     and ($10::timestamptz is null or o.created_at >= $10)
                     and ($11::timestamptz is null or o.created_at < $11)
                     and o.id >= $12 and o.id <= $13
                   limit $6
               ) counted"#,
            organization.uuid(),
            pipeline.and_then(PipelineName::id),
            filter.statuses.as_deref(),
            filter.commit_id.as_ref().map(CommitPrefix::as_str),
            filter.environment,
            MAX_COUNT + 1,
            within.as_deref(),
            pipeline.and_then(PipelineName::slug),
            filter.created_by.map(UserId::uuid),
            filter.from.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            filter.to.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            oldest,
            newest,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = record_query!(
            "(select * from deployments o
              where o.organization_id = $1 and ($2::uuid is null or o.pipeline_id = $2)
                and ($3::text[] is null or o.status = any($3)) and ($4::text is null or o.commit_id like $4 || '%')
                and ($5::text is null or o.environment_id in (select e.id from environments e
                    where e.organization_id = $1 and e.name = $5))
                and ($8::uuid[] is null or o.pipeline_id = any($8))
                and ($9::text is null or o.pipeline_id in (select p.id from pipelines p
                    where p.organization_id = $1 and p.slug = $9 and p.status <> 'archived'))
                and ($10::uuid is null or o.created_by = $10)
                and ($11::timestamptz is null or o.created_at >= $11)
                and ($12::timestamptz is null or o.created_at < $12)
                and o.id >= $13 and o.id <= $14
              order by o.id desc limit $6 offset $7) d",
            organization.uuid(),
            pipeline.and_then(PipelineName::id),
            filter.statuses.as_deref(),
            filter.commit_id.as_ref().map(CommitPrefix::as_str),
            filter.environment,
            page.limit,
            page.offset,
            within.as_deref(),
            pipeline.and_then(PipelineName::slug),
            filter.created_by.map(UserId::uuid),
            filter.from.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            filter.to.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            oldest,
            newest,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(PageResult { rows: self.with_stages(organization, rows).await?, total: Total::counted(total) })
    }
}
