//! Counts of what is going on in an organization. They read environments, waiting sessions and live
//! deployments, and no history.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, TokenId, UserId};
use greenroom_domain::token_grant::PipelineLimit;

use crate::deployment::final_statuses::query_with_final_statuses;
use crate::error::to_column;
use crate::pipeline::PipelineName;
use crate::token_columns::{limit_ids, lineage_ids};
use crate::{Store, StoreError};

/// What is counted, and for whom.
#[derive(Clone, Debug)]
pub struct SummaryFilter {
    pub user: UserId,
    /// Of a service account: the tokens whose sessions are the caller's own.
    pub lineage: Vec<TokenId>,
    pub pipeline: Option<PipelineName>,
    /// Only pipelines that the token has access to.
    pub within: PipelineLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    pub pipelines: i64,
    pub stopped_pipelines: i64,
    pub environments: i64,
    pub free_environments: i64,
    pub waiting_sessions: i64,
    /// Environments that the user holds.
    pub held_by_user: i64,
    /// Those whose grant from the queue is not confirmed.
    pub unconfirmed_of_user: i64,
    /// Those with a pending request for hand-over.
    pub requested_of_user: i64,
    pub waiting_of_user: i64,
    pub deployments: LiveDeployments,
}

/// The numbers of deployments by status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveDeployments {
    pub queued: i64,
    pub running: i64,
    pub waiting: i64,
    pub paused: i64,
    pub canceling: i64,
}

#[boxed_futures]
impl Store {
    pub async fn summary(
        &self,
        organization: OrganizationId,
        filter: &SummaryFilter,
    ) -> Result<Summary, StoreError> {
        let pipelines = self.counted_pipelines(organization, filter).await?;
        let ids: Vec<uuid::Uuid> = pipelines.iter().map(|(id, _)| *id).collect();
        let lineage = lineage_ids(&filter.lineage);
        let environments = sqlx::query!(
            r#"select count(*) as "total!", count(*) filter (where not e.is_held) as "free!",
                      coalesce(sum(e.waiters), 0)::bigint as "waiting!",
                      count(*) filter (where e.is_own) as "held!",
                      count(*) filter (where e.is_own and not e.confirmed) as "unconfirmed!",
                      count(*) filter (where e.is_own and e.handover_session_id is not null) as "requested!"
               from (
                   select o.waiters, o.confirmed, o.handover_session_id,
                          coalesce(o.expires_at > clock_timestamp(), false) as is_held,
                          o.expires_at > clock_timestamp() and o.holder_id = $3
                              and (o.owner_token_id is null or o.owner_token_id = any($4)) as is_own
                   from environments o
                   where o.organization_id = $1 and o.pipeline_id = any($2)
                     and (o.listed or o.session_id is not null or o.waiters > 0 or o.slot_deployment_id is not null
                          or o.cleanup_retry_at is not null)
               ) e"#,
            organization.uuid(),
            &ids,
            filter.user.uuid(),
            &lineage,
        )
        .fetch_one(&self.pool())
        .await?;
        let waiting_of_user = sqlx::query_scalar!(
            r#"select count(*) as "count!" from sessions w
               join environments e on e.organization_id = $1 and e.id = w.environment_id
               where w.organization_id = $1 and w.waiting and w.user_id = $3
                 and (w.owner_token_id is null or w.owner_token_id = any($4)) and e.pipeline_id = any($2)"#,
            organization.uuid(),
            &ids,
            filter.user.uuid(),
            &lineage,
        )
        .fetch_one(&self.pool())
        .await?;
        let deployments = query_with_final_statuses!(
            sqlx::query,
            [
                r#"select count(*) filter (where d.status = 'queued') as "queued!",
                      count(*) filter (where d.status = 'running') as "running!",
                      count(*) filter (where d.status = 'waiting') as "waiting!",
                      count(*) filter (where d.status = 'paused') as "paused!",
                      count(*) filter (where d.status = 'canceling') as "canceling!"
               from deployments d
               where d.organization_id = $1 and d.pipeline_id = any($2)
                 and d.status not in "#,
                "",
            ],
            organization.uuid(),
            &ids,
        )
        .fetch_one(&self.pool())
        .await?;
        let stopped = pipelines.iter().filter(|(_, is_stopped)| *is_stopped).count();
        Ok(Summary {
            pipelines: to_column("pipelines", pipelines.len())?,
            stopped_pipelines: to_column("pipelines", stopped)?,
            environments: environments.total,
            free_environments: environments.free,
            waiting_sessions: environments.waiting,
            held_by_user: environments.held,
            unconfirmed_of_user: environments.unconfirmed,
            requested_of_user: environments.requested,
            waiting_of_user,
            deployments: LiveDeployments {
                queued: deployments.queued,
                running: deployments.running,
                waiting: deployments.waiting,
                paused: deployments.paused,
                canceling: deployments.canceling,
            },
        })
    }

    /// Returns the pipelines that are counted, and whether each is stopped.
    async fn counted_pipelines(
        &self,
        organization: OrganizationId,
        filter: &SummaryFilter,
    ) -> Result<Vec<(uuid::Uuid, bool)>, StoreError> {
        let (pipeline, within) = (filter.pipeline.as_ref(), limit_ids(&filter.within));
        let rows = sqlx::query!(
            r#"select id, status = 'stopped' as "is_stopped!" from pipelines
               where organization_id = $1 and status <> 'archived' and ($2::uuid is null or id = $2)
                 and ($3::text is null or slug = $3) and ($4::uuid[] is null or id = any($4))"#,
            organization.uuid(),
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            within.as_deref(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(|row| (row.id, row.is_stopped)).collect())
    }
}
