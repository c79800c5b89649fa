//! Records of attempts and their steps, as they are read for the API.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{JobStatus, Reason, StepStatus};
use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, StepRunId};
use jiff::Timestamp;

use super::stage_record::time;
use crate::error::{parse_column, parse_nullable_column};
use crate::job::JobInput;
use crate::{Store, StoreError};

/// An attempt of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    pub id: JobId,
    pub stage: String,
    pub attempt: i32,
    pub status: JobStatus,
    pub reason: Option<Reason>,
    pub detail: Option<String>,
    pub runner: Option<String>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub lease_expires_at: Option<Timestamp>,
    /// What it got that other jobs have left, by kind and name.
    pub inputs: Vec<JobInput>,
    pub steps: Vec<StepRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    pub id: StepRunId,
    pub name: String,
    pub status: StepStatus,
    pub exit_code: Option<i32>,
    /// The explanation of the runner, which is free text.
    pub reason: Option<String>,
    pub image_digest: Option<String>,
    /// The content of the step of a registry.
    pub step_digest: Option<String>,
    pub outputs: serde_json::Value,
    pub log_bytes: i64,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[boxed_futures]
impl Store {
    /// Returns the attempts of a deployment's stages, or of one of them, with their steps, oldest first.
    pub async fn job_records(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
        stage: Option<&str>,
    ) -> Result<Vec<JobRecord>, StoreError> {
        let rows = sqlx::query!(
            r#"select id, stage_key, attempt, status, reason, detail, runner_name, queued_at, started_at, ended_at,
                    lease_expires_at,
                    (select coalesce(jsonb_agg(jsonb_build_object('kind', i.kind, 'name', i.name, 'stage', i.stage_key,
                         'pool', i.pool, 'zone', i.zone, 'sha256', i.sha256) order by i.kind, i.name), '[]')
                     from job_inputs i where i.organization_id = $1 and i.job_id = jobs.id) as "inputs!"
             from jobs
             where organization_id = $1 and deployment_id = $2 and ($3::text is null or stage_key = $3)
             order by id limit 1000"#,
            organization.uuid(),
            deployment.uuid(),
            stage,
        )
        .fetch_all(&self.pool())
        .await?;
        let ids: Vec<uuid::Uuid> = rows.iter().map(|row| row.id).collect();
        let steps = sqlx::query!(
            "select id, job_id, name, status, exit_code, reason, image_digest, step_digest, outputs, log_bytes,
                    started_at, ended_at
             from step_runs
             where organization_id = $1 and job_id = any($2) order by job_id, position",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut jobs: Vec<JobRecord> = Vec::with_capacity(rows.len());
        for row in rows {
            jobs.push(JobRecord {
                id: row.id.into(),
                stage: row.stage_key,
                attempt: row.attempt,
                status: parse_column("jobs.status", &row.status)?,
                reason: parse_nullable_column("jobs.reason", row.reason.as_deref())?,
                detail: row.detail,
                runner: row.runner_name,
                queued_at: row.queued_at.to_jiff(),
                started_at: time(row.started_at),
                ended_at: time(row.ended_at),
                lease_expires_at: time(row.lease_expires_at),
                inputs: serde_json::from_value(row.inputs).map_err(|error| StoreError::Unreadable {
                    column: "job_inputs",
                    value: error.to_string(),
                })?,
                steps: Vec::new(),
            });
        }
        for step in steps {
            if let Some(job) = jobs.iter_mut().find(|job| job.id.uuid() == step.job_id) {
                job.steps.push(StepRecord {
                    id: step.id.into(),
                    name: step.name,
                    status: parse_column("step_runs.status", &step.status)?,
                    exit_code: step.exit_code,
                    reason: step.reason,
                    image_digest: step.image_digest,
                    step_digest: step.step_digest,
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
