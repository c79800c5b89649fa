//! Deployments, their attempts and steps, as they are read.

use greenroom_domain::id::{
    DeploymentId, EnvironmentId, JobId, OrganizationId, PipelineId, SessionId, StepRunId, UserId,
};
use jiff::Timestamp;

use crate::change::Change;
use crate::page::{COUNTED, Listed, Page, Total};
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentRecord {
    pub id: DeploymentId,
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
    pub pipeline_status: String,
    pub definition_version: i32,
    pub purpose: String,
    pub trigger: String,
    pub environment: Option<(EnvironmentId, String)>,
    pub session_id: Option<SessionId>,
    pub commit_id: String,
    pub branch: Option<String>,
    pub status: String,
    pub reason: Option<String>,
    pub detail: Option<String>,
    pub created_by: UserId,
    pub created_by_name: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When its logs and artifacts were removed.
    pub expired_at: Option<Timestamp>,
    /// The deployment that acts on the environment now.
    pub slot_deployment_id: Option<DeploymentId>,
    /// As many of the pipeline's run as its definition lets.
    pub crowded: bool,
}

/// An attempt of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    pub id: JobId,
    pub stage: String,
    pub attempt: i32,
    pub status: String,
    pub reason: Option<String>,
    pub detail: Option<String>,
    pub runner: Option<String>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub lease_expires_at: Option<Timestamp>,
    pub steps: Vec<StepRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    pub id: StepRunId,
    pub name: String,
    pub status: String,
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    pub outputs: serde_json::Value,
    pub log_bytes: i64,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Which deployments a list has; all that is given has to hold.
#[derive(Clone, Debug, Default)]
pub struct DeploymentFilter {
    pub pipeline: Option<PipelineId>,
    pub status: Option<String>,
    pub environment: Option<String>,
    pub commit_id: Option<String>,
}

struct Row {
    id: uuid::Uuid,
    pipeline_id: uuid::Uuid,
    pipeline_slug: String,
    pipeline_status: String,
    definition_version: i32,
    purpose: String,
    trigger: String,
    environment_id: Option<uuid::Uuid>,
    environment_name: Option<String>,
    session_id: Option<uuid::Uuid>,
    commit_id: String,
    branch: Option<String>,
    status: String,
    reason: Option<String>,
    detail: Option<String>,
    created_by: uuid::Uuid,
    created_by_name: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    started_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
    expired_at: Option<jiff_sqlx::Timestamp>,
    slot_deployment_id: Option<uuid::Uuid>,
    crowded: bool,
}

impl From<Row> for DeploymentRecord {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            pipeline_id: row.pipeline_id.into(),
            pipeline_slug: row.pipeline_slug,
            pipeline_status: row.pipeline_status,
            definition_version: row.definition_version,
            purpose: row.purpose,
            trigger: row.trigger,
            environment: row.environment_id.map(EnvironmentId::from).zip(row.environment_name),
            session_id: row.session_id.map(SessionId::from),
            commit_id: row.commit_id,
            branch: row.branch,
            status: row.status,
            reason: row.reason,
            detail: row.detail,
            created_by: row.created_by.into(),
            created_by_name: row.created_by_name,
            created_at: row.created_at.to_jiff(),
            started_at: time(row.started_at),
            ended_at: time(row.ended_at),
            expired_at: time(row.expired_at),
            slot_deployment_id: row.slot_deployment_id.map(DeploymentId::from),
            crowded: row.crowded,
        }
    }
}

/// The deployments `d` that `$from` gives, with what stands around them.
macro_rules! record_query {
    ($from:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select d.id, d.pipeline_id, p.slug as pipeline_slug, p.status as pipeline_status, d.definition_version,
                      d.purpose, d.trigger, d.environment_id as "environment_id?", e.name as "environment_name?",
                      d.session_id as "session_id?", d.commit_id, d.branch, d.status, d.reason, d.detail, d.created_by,
                      m.name as "created_by_name?", d.created_at, d.started_at, d.ended_at, d.expired_at,
                      e.slot_deployment_id as "slot_deployment_id?",
                      d.status = 'queued' and d.purpose <> 'teardown' and coalesce((
                          select (v.definition ->> 'concurrency')::bigint <= (select count(*) from deployments o
                              where o.organization_id = $1 and o.pipeline_id = d.pipeline_id
                                and o.purpose <> 'teardown' and o.status in ('running', 'waiting', 'paused', 'canceling'))
                          from pipeline_versions v
                          where v.organization_id = $1 and v.pipeline_id = d.pipeline_id
                            and v.version = d.definition_version), false) as "crowded!"
               from "# + $from + r#"
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               left join memberships m on m.organization_id = $1 and m.user_id = d.created_by
               order by d.id desc"#,
            $($argument),*
        )
    };
}

impl Store {
    pub async fn deployment_record(
        &self,
        organization: OrganizationId,
        id: DeploymentId,
    ) -> Result<Option<DeploymentRecord>, StoreError> {
        let row = record_query!(
            "(select * from deployments o where o.organization_id = $1 and o.id = $2) d",
            organization.uuid(),
            id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(DeploymentRecord::from))
    }

    /// The newest of each of these pipelines.
    pub async fn last_of_pipelines(
        &self,
        organization: OrganizationId,
        pipelines: &[PipelineId],
    ) -> Result<Vec<DeploymentRecord>, StoreError> {
        let ids: Vec<uuid::Uuid> = pipelines.iter().map(|id| id.uuid()).collect();
        let rows = record_query!(
            "unnest($2::uuid[]) as asked (id)
             cross join lateral (select * from deployments o
                 where o.organization_id = $1 and o.pipeline_id = asked.id order by o.id desc limit 1) d",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(DeploymentRecord::from).collect())
    }

    /// Newest first.
    pub async fn deployment_records(
        &self,
        organization: OrganizationId,
        filter: &DeploymentFilter,
        page: Page,
    ) -> Result<Listed<DeploymentRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from deployments o
                   where o.organization_id = $1 and ($2::uuid is null or o.pipeline_id = $2)
                     and ($3::text is null or o.status = $3) and ($4::text is null or o.commit_id like $4 || '%')
                     and ($5::text is null or o.environment_id in (select e.id from environments e
                         where e.organization_id = $1 and e.name = $5))
                   limit $6
               ) counted"#,
            organization.uuid(),
            filter.pipeline.map(PipelineId::uuid),
            filter.status,
            filter.commit_id,
            filter.environment,
            COUNTED + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = record_query!(
            "(select * from deployments o
              where o.organization_id = $1 and ($2::uuid is null or o.pipeline_id = $2)
                and ($3::text is null or o.status = $3) and ($4::text is null or o.commit_id like $4 || '%')
                and ($5::text is null or o.environment_id in (select e.id from environments e
                    where e.organization_id = $1 and e.name = $5))
              order by o.id desc limit $6 offset $7) d",
            organization.uuid(),
            filter.pipeline.map(PipelineId::uuid),
            filter.status,
            filter.commit_id,
            filter.environment,
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(DeploymentRecord::from).collect();
        Ok(Listed { rows, total: Total::counted(total) })
    }

    /// The attempts of a deployment's stages, or of one of them, with their steps; oldest first.
    pub async fn job_records(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
        stage: Option<&str>,
    ) -> Result<Vec<JobRecord>, StoreError> {
        let rows = sqlx::query!(
            "select id, stage_key, attempt, status, reason, detail, runner_name, queued_at, started_at, ended_at,
                    lease_expires_at
             from jobs
             where organization_id = $1 and deployment_id = $2 and ($3::text is null or stage_key = $3)
             order by id limit 1000",
            organization.uuid(),
            deployment.uuid(),
            stage,
        )
        .fetch_all(&self.pool())
        .await?;
        let ids: Vec<uuid::Uuid> = rows.iter().map(|row| row.id).collect();
        let steps = sqlx::query!(
            "select id, job_id, name, status, exit_code, reason, outputs, log_bytes, started_at, ended_at from step_runs
             where organization_id = $1 and job_id = any($2) order by job_id, position",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut jobs: Vec<JobRecord> = rows
            .into_iter()
            .map(|row| JobRecord {
                id: row.id.into(),
                stage: row.stage_key,
                attempt: row.attempt,
                status: row.status,
                reason: row.reason,
                detail: row.detail,
                runner: row.runner_name,
                queued_at: row.queued_at.to_jiff(),
                started_at: time(row.started_at),
                ended_at: time(row.ended_at),
                lease_expires_at: time(row.lease_expires_at),
                steps: Vec::new(),
            })
            .collect();
        for step in steps {
            if let Some(job) = jobs.iter_mut().find(|job| job.id.uuid() == step.job_id) {
                job.steps.push(StepRecord {
                    id: step.id.into(),
                    name: step.name,
                    status: step.status,
                    exit_code: step.exit_code,
                    reason: step.reason,
                    outputs: step.outputs,
                    log_bytes: step.log_bytes,
                    started_at: time(step.started_at),
                    ended_at: time(step.ended_at),
                });
            }
        }
        Ok(jobs)
    }
}

impl Change {
    /// As this change has left it.
    pub async fn deployment_record(
        &mut self,
        id: DeploymentId,
    ) -> Result<Option<DeploymentRecord>, StoreError> {
        let organization = self.organization();
        let row = record_query!(
            "(select * from deployments o where o.organization_id = $1 and o.id = $2) d",
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(DeploymentRecord::from))
    }
}

pub(super) fn time(at: Option<jiff_sqlx::Timestamp>) -> Option<Timestamp> {
    at.map(jiff_sqlx::Timestamp::to_jiff)
}
