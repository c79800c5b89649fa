//! Reads a step that is still running, to compare it with good runs.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId, PipelineId, StepRunId};
use jiff::Timestamp;

use super::compared::ComparedStep;
use crate::error::{from_column, to_column};
use crate::{Store, StoreError};

/// A step that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningStep {
    pub id: StepRunId,
    pub name: String,
    pub pipeline_id: PipelineId,
    pub stage_key: String,
    pub attempt: u32,
    /// The name of the environment; empty without one.
    pub place: String,
    pub template: Option<String>,
    pub started_at: Timestamp,
    /// When this was read.
    pub now: Timestamp,
    pub log_bytes: u64,
}

impl RunningStep {
    pub fn compared(&self) -> ComparedStep<'_> {
        ComparedStep {
            step: self.id,
            pipeline_id: self.pipeline_id,
            stage_key: &self.stage_key,
            place: &self.place,
            template: self.template.as_deref(),
            before: self.now,
        }
    }
}

#[boxed_futures]
impl Store {
    /// Returns a step of a deployment; `None` if it is not running.
    pub async fn running_step(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
        step: StepRunId,
    ) -> Result<Option<RunningStep>, StoreError> {
        let row = sqlx::query!(
            r#"select s.name, s.log_bytes, s.started_at as "started_at!", clock_timestamp() as "now!", j.stage_key, j.attempt,
                      d.pipeline_id, d.definition_version, e.name as "environment?",
                      coalesce(e.name, g.environment, '') as "place!"
               from step_runs s
               join jobs j on j.organization_id = $1 and j.id = s.job_id
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join stages g on g.organization_id = $1 and g.deployment_id = d.id and g.key = j.stage_key
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where s.organization_id = $1 and s.id = $3 and j.deployment_id = $2 and s.status = 'running'
                   and s.started_at is not null and d.expired_at is null"#,
            organization.uuid(),
            deployment.uuid(),
            step.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let pipeline_id = PipelineId::from(row.pipeline_id);
        let template = match row.environment {
            Some(name) => {
                let mut transaction = self.system_transaction(organization).await?;
                let definition = transaction.definition_of(pipeline_id, row.definition_version).await?;
                definition.template_for(&name).map(|template| template.pattern())
            }
            None => None,
        };
        Ok(Some(RunningStep {
            id: step,
            name: row.name,
            pipeline_id,
            stage_key: row.stage_key,
            attempt: from_column("jobs.attempt", row.attempt)?,
            place: row.place,
            template,
            started_at: row.started_at.to_jiff(),
            now: row.now.to_jiff(),
            log_bytes: from_column("step_runs.log_bytes", row.log_bytes)?,
        }))
    }

    /// Returns about when a byte of a log was written: when the piece that contains it was.
    pub async fn log_time(
        &self,
        organization: OrganizationId,
        step: StepRunId,
        offset: u64,
    ) -> Result<Option<Timestamp>, StoreError> {
        let offset: i64 = to_column("log_segments.start", offset)?;
        let segment = sqlx::query!(
            "select at, marks from log_segments where organization_id = $1 and step_run_id = $2 and start <= $3
             order by start desc limit 1",
            organization.uuid(),
            step.uuid(),
            offset,
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(segment) = segment else { return Ok(None) };
        // A compacted segment has pairs of offset and time.
        let marks = segment
            .marks
            .chunks_exact(2)
            .take_while(|mark| mark.first().is_some_and(|start| *start <= offset));
        let marked =
            marks.last().and_then(|mark| mark.get(1)).and_then(|at| Timestamp::from_millisecond(*at).ok());
        Ok(Some(marked.unwrap_or_else(|| segment.at.to_jiff())))
    }
}
