//! The live sessions of an organization, which hold an environment or wait for one. They are found through
//! the rows of environments and the index of waiting sessions, so that neither a claim nor an end maintains
//! an index for this list.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, OrganizationId, PipelineId, SessionId, UserId};
use greenroom_domain::token_grant::PipelineLimit;

use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

/// Conditions on live sessions. All conditions have to match.
#[derive(Clone, Debug)]
pub struct LiveSessionFilter {
    pub user: Option<UserId>,
    /// Include sessions that hold an environment.
    pub active: bool,
    /// Include sessions that wait for one.
    pub queued: bool,
    /// Only sessions of pipelines that the token has access to.
    pub within: PipelineLimit,
}

/// A live session, and the environment and pipeline that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSession {
    pub session_id: SessionId,
    pub environment_id: EnvironmentId,
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
}

#[boxed_futures]
impl Store {
    /// Returns the live sessions, newest first. A session whose expired lease is not recorded yet is
    /// included.
    pub async fn live_sessions(
        &self,
        organization: OrganizationId,
        filter: &LiveSessionFilter,
        page: Page,
    ) -> Result<PageResult<LiveSession>, StoreError> {
        let (user, within) = (filter.user.map(UserId::uuid), limit_ids(&filter.within));
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from environments h
                   where h.organization_id = $1 and h.session_id is not null and $2::boolean
                     and ($4::uuid is null or h.holder_id = $4) and ($5::uuid[] is null or h.pipeline_id = any($5))
                   union all
                   select 1 from sessions w
                   join environments e on e.organization_id = $1 and e.id = w.environment_id
                   where w.organization_id = $1 and w.waiting and $3::boolean
                     and ($4::uuid is null or w.user_id = $4) and ($5::uuid[] is null or e.pipeline_id = any($5))
                   limit $6
               ) counted"#,
            organization.uuid(),
            filter.active,
            filter.queued,
            user,
            within.as_deref(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query!(
            r#"select live.id as "id!", live.environment_id as "environment_id!", live.pipeline_id as "pipeline_id!",
                      p.slug as pipeline_slug
               from (
                   select h.session_id as id, h.id as environment_id, h.pipeline_id from environments h
                   where h.organization_id = $1 and h.session_id is not null and $2::boolean
                     and ($4::uuid is null or h.holder_id = $4) and ($5::uuid[] is null or h.pipeline_id = any($5))
                   union all
                   select w.id, w.environment_id, e.pipeline_id from sessions w
                   join environments e on e.organization_id = $1 and e.id = w.environment_id
                   where w.organization_id = $1 and w.waiting and $3::boolean
                     and ($4::uuid is null or w.user_id = $4) and ($5::uuid[] is null or e.pipeline_id = any($5))
               ) live
               join pipelines p on p.organization_id = $1 and p.id = live.pipeline_id
               order by live.id desc limit $6 offset $7"#,
            organization.uuid(),
            filter.active,
            filter.queued,
            user,
            within.as_deref(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| LiveSession {
            session_id: row.id.into(),
            environment_id: row.environment_id.into(),
            pipeline_id: row.pipeline_id.into(),
            pipeline_slug: row.pipeline_slug,
        });
        Ok(PageResult { rows: rows.collect(), total: Total::counted(total) })
    }
}
