//! What happens in pipelines: how many of their environments are free, and their newest deployments.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{DeploymentStatus, Purpose};
use greenroom_domain::id::{DeploymentId, OrganizationId, PipelineId};
use jiff::Timestamp;
use sqlx::PgExecutor;

use crate::error::parse_column;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// How many deployments of each pipeline are read.
const MAX_RECENT: i64 = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineActivity {
    pub environments: i64,
    pub free_environments: i64,
    /// The name of the user who stopped the pipeline; `None` if it is not stopped.
    pub stopped_by_name: Option<String>,
    /// The newest deployments that are not teardowns, newest first.
    pub recent: Vec<RecentDeployment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentDeployment {
    pub id: DeploymentId,
    pub purpose: Purpose,
    pub commit_id: String,
    pub status: DeploymentStatus,
    pub created_at: Timestamp,
    /// The lasting environments that it has not deployed to because conditions saw no branch, if it has succeeded.
    pub skipped_environments: Vec<String>,
}

#[boxed_futures]
impl Store {
    /// Returns the activity of `pipelines`, some of which are `stopped`.
    pub async fn pipeline_activity(
        &self,
        organization: OrganizationId,
        (pipelines, stopped): (&[PipelineId], &[PipelineId]),
    ) -> Result<HashMap<PipelineId, PipelineActivity>, StoreError> {
        let uuids = |ids: &[PipelineId]| -> Vec<uuid::Uuid> { ids.iter().map(|id| id.uuid()).collect() };
        let ids = uuids(pipelines);
        let pool = self.pool();
        let mut activity = environment_counts(&pool, organization.uuid(), &ids).await?;
        add_recent(&pool, organization.uuid(), &ids, &mut activity).await?;
        if !stopped.is_empty() {
            add_stop_names(&pool, organization.uuid(), &uuids(stopped), &mut activity).await?;
        }
        Ok(activity)
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// The same, with the changes of this transaction.
    pub async fn pipeline_activity(&mut self, pipeline: PipelineId) -> Result<PipelineActivity, StoreError> {
        let (organization, ids) = (self.organization(), [pipeline.uuid()]);
        let mut activity = environment_counts(self.connection(), organization, &ids).await?;
        add_recent(self.connection(), organization, &ids, &mut activity).await?;
        add_stop_names(self.connection(), organization, &ids, &mut activity).await?;
        Ok(activity.remove(&pipeline).unwrap_or_default())
    }
}

async fn environment_counts(
    executor: impl PgExecutor<'_>,
    organization: uuid::Uuid,
    pipelines: &[uuid::Uuid],
) -> Result<HashMap<PipelineId, PipelineActivity>, StoreError> {
    let rows = sqlx::query!(
        r#"select e.pipeline_id, count(*) as "total!",
                  count(*) filter (where e.session_id is null or e.expires_at <= clock_timestamp()) as "free!"
           from environments e
           where e.organization_id = $1 and e.pipeline_id = any($2)
             and (e.listed or e.session_id is not null or e.waiters > 0 or e.slot_deployment_id is not null
                  or e.cleanup_retry_at is not null)
           group by e.pipeline_id"#,
        organization,
        pipelines,
    )
    .fetch_all(executor)
    .await?;
    let counts = rows.into_iter().map(|row| {
        let activity = PipelineActivity {
            environments: row.total,
            free_environments: row.free,
            stopped_by_name: None,
            recent: Vec::new(),
        };
        (row.pipeline_id.into(), activity)
    });
    Ok(counts.collect())
}

async fn add_stop_names(
    executor: impl PgExecutor<'_>,
    organization: uuid::Uuid,
    pipelines: &[uuid::Uuid],
    activity: &mut HashMap<PipelineId, PipelineActivity>,
) -> Result<(), StoreError> {
    let rows = sqlx::query!(
        "select p.id, m.name from pipelines p join memberships m on m.organization_id = $1 and m.user_id = p.stopped_by
         where p.organization_id = $1 and p.id = any($2)",
        organization,
        pipelines,
    )
    .fetch_all(executor)
    .await?;
    for row in rows {
        activity.entry(row.id.into()).or_default().stopped_by_name = Some(row.name);
    }
    Ok(())
}

async fn add_recent(
    executor: impl PgExecutor<'_>,
    organization: uuid::Uuid,
    pipelines: &[uuid::Uuid],
    activity: &mut HashMap<PipelineId, PipelineActivity>,
) -> Result<(), StoreError> {
    let rows = sqlx::query!(
        "select d.pipeline_id, d.id, d.purpose, d.commit_id, d.status, d.created_at,
                case when d.status = 'succeeded' and d.purpose = 'pipeline' and exists (
                    select from stages s where s.organization_id = $1 and s.deployment_id = d.id and s.reason = 'branch_unknown') then (
                    select array_agg(distinct s.environment) filter (where s.environment is not null) from stages s
                    where s.organization_id = $1 and s.deployment_id = d.id and s.status = 'skipped'
                      and s.reason in ('branch_unknown', 'upstream_skipped')
                    having bool_or(s.reason = 'branch_unknown')) end as skipped_environments
         from unnest($2::uuid[]) as asked (id)
         cross join lateral (select * from deployments o
             where o.organization_id = $1 and o.pipeline_id = asked.id and o.purpose <> 'teardown'
             order by o.id desc limit $3) d
         order by d.id desc",
        organization,
        pipelines,
        MAX_RECENT,
    )
    .fetch_all(executor)
    .await?;
    for row in rows {
        activity.entry(row.pipeline_id.into()).or_default().recent.push(RecentDeployment {
            id: row.id.into(),
            purpose: parse_column("deployments.purpose", &row.purpose)?,
            commit_id: row.commit_id,
            status: parse_column("deployments.status", &row.status)?,
            created_at: row.created_at.to_jiff(),
            skipped_environments: row.skipped_environments.unwrap_or_default(),
        });
    }
    Ok(())
}
