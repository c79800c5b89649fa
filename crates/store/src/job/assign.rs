//! A job gets a runner, and the runner all that it has to know.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{BranchProof, Purpose, required_proof};
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, JobId, PipelineId, StepRunId};
use greenroom_domain::runner_pool::Network;

use super::JobWord;
use crate::artifact::Artifact;
use crate::change::{Actor, Change};
use crate::deployment::TIMING;
use crate::error::word;
use crate::{Store, StoreError};

/// A job that a runner has just been given.
#[derive(Clone, Debug)]
pub struct Assigned {
    pub deployment_id: DeploymentId,
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
    pub repository: Option<String>,
    /// What its steps may reach, as its pool has it now.
    pub network: Network,
    pub purpose: Purpose,
    pub commit_id: String,
    /// What its checkout has to prove, if the pipeline has a repository.
    pub proof: Option<BranchProof>,
    pub environment: Option<(String, Option<String>)>,
    pub fence: Option<i64>,
    pub session_id: Option<uuid::Uuid>,
    pub stage: String,
    pub attempt: i32,
    pub timeout_seconds: i64,
    pub definition: Arc<Definition>,
    /// In their order.
    pub steps: Vec<(StepRunId, String)>,
    /// What the steps of the stages that it needs have put out: stage, then name.
    pub outputs: BTreeMap<String, BTreeMap<String, String>>,
    /// What those stages have left.
    pub artifacts: Vec<Artifact>,
}

impl Store {
    /// Gives a job to a runner; `None` if it is not to be had any more, or its pool was restricted since and does not take it.
    pub async fn assign_job(
        &self,
        word: JobWord<'_>,
        task_token: &[u8],
        lease: Duration,
    ) -> Result<Option<Assigned>, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(deployment) = change.deployment_of(word.job).await? else { return Ok(None) };
        let Some(held) = change.hold_without_stages(deployment).await? else { return Ok(None) };
        if held.state.cancel.is_some() || held.state.status.is_end() {
            return Ok(None);
        }
        if change.refuse_restricted_job(&held, word.job).await? {
            change.commit().await?;
            return Ok(None);
        }
        let organization = change.organization();
        let row = sqlx::query!(
            r#"with job as (
                   update jobs set status = 'running', runner_id = $3, runner_name = $4, secret_hash = $5, task_token = $6,
                       started_at = clock_timestamp(), lease_expires_at = clock_timestamp() + $7 * interval '1 second',
                       lease_limit = clock_timestamp() + interval '1 second' * ($10::float8 +
                           (select s.timeout_seconds from stages s
                            where s.organization_id = $1 and s.deployment_id = $9 and s.key = jobs.stage_key))
                   where organization_id = $1 and id = $2 and status = 'queued' and cancel_reason is null and pool_id = $8
                     and exists (select 1 from runners r
                         where r.organization_id = $1 and r.id = $3 and r.revoked_at is null)
                   returning stage_key, attempt
               ),
               stage as (
                   update stages s set status = 'running', started_at = coalesce(s.started_at, clock_timestamp())
                   from job
                   where s.organization_id = $1 and s.deployment_id = $9 and s.key = job.stage_key and s.status = 'queued'
               )
               select stage_key, attempt from job"#,
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.runner.name,
            word.secret.as_slice(),
            task_token,
            lease.as_secs_f64(),
            word.runner.pool_id.uuid(),
            deployment.uuid(),
            TIMING.timeout_slack.as_secs_f64(),
        )
        .fetch_optional(change.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let attempt = u32::try_from(row.attempt).unwrap_or_default();
        let stage = Some((row.stage_key.as_str(), attempt));
        let runner = Actor::Runner { id: word.runner.id, name: word.runner.name.clone() };
        change.tell_progress(&held, (&runner, EventType::StageStarted), stage, None).await?;
        let assigned = change.assigned(word.job, deployment).await?;
        if assigned.repository.is_some() && assigned.proof.is_some() {
            change.demand_proof(word.job).await?;
        }
        change.commit().await?;
        Ok(Some(assigned))
    }
}

impl Change {
    /// Everything that a runner is told of a job.
    async fn assigned(&mut self, job: JobId, deployment: DeploymentId) -> Result<Assigned, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.pipeline_id, p.slug, p.repository, d.purpose, d.commit_id, d.branch,
                      d.definition_version, d.fence,
                      d.session_id, e.name as "environment?", e.url as "url?", j.stage_key, j.attempt,
                      s.timeout_seconds, s.needs, pool.network,
                      array(select r.id from step_runs r where r.organization_id = $1 and r.job_id = j.id
                          order by r.position) as "step_ids!",
                      array(select r.name from step_runs r where r.organization_id = $1 and r.job_id = j.id
                          order by r.position) as "step_names!"
               from jobs j
               join runner_pools pool on pool.organization_id = $1 and pool.id = j.pool_id
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               join stages s on s.organization_id = $1 and s.deployment_id = d.id and s.key = j.stage_key
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2"#,
            organization,
            job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let (mut outputs, mut artifacts) = (BTreeMap::new(), Vec::new());
        if !row.needs.is_empty() {
            outputs = self.outputs_of(deployment, &row.needs).await?;
            artifacts = self.artifacts_of(deployment, &row.needs).await?;
        }
        let definition = self.definition_of(row.pipeline_id.into(), row.definition_version).await?;
        let purpose = word("deployments.purpose", &row.purpose)?;
        let stage = definition.stage(&row.stage_key);
        let proof =
            stage.and_then(|stage| required_proof(&definition, purpose, stage, row.branch.as_deref()));
        Ok(Assigned {
            deployment_id: deployment,
            pipeline_id: row.pipeline_id.into(),
            pipeline_slug: row.slug,
            repository: row.repository,
            network: word("runner_pools.network", &row.network)?,
            purpose,
            commit_id: row.commit_id,
            proof,
            environment: row.environment.map(|name| (name, row.url)),
            fence: row.fence,
            session_id: row.session_id,
            stage: row.stage_key,
            attempt: row.attempt,
            timeout_seconds: row.timeout_seconds,
            definition,
            steps: row.step_ids.into_iter().map(StepRunId::from).zip(row.step_names).collect(),
            outputs,
            artifacts,
        })
    }

    /// No step of the job starts before its checkout has proven a branch.
    async fn demand_proof(&mut self, job: JobId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update jobs set must_prove = true where organization_id = $1 and id = $2",
            organization,
            job.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// What the steps of these stages have put out.
    async fn outputs_of(
        &mut self,
        deployment: DeploymentId,
        stages: &[String],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, StoreError> {
        let organization = self.organization();
        let put_out = sqlx::query!(
            r#"select j.stage_key, r.outputs
               from stages s
               join jobs j on j.organization_id = $1 and j.deployment_id = s.deployment_id and j.stage_key = s.key
                   and j.attempt = s.attempt
               join step_runs r on r.organization_id = $1 and r.job_id = j.id
               where s.organization_id = $1 and s.deployment_id = $2 and s.key = any($3)
               order by r.position"#,
            organization,
            deployment.uuid(),
            stages,
        )
        .fetch_all(self.connection())
        .await?;
        let mut outputs: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for put_out in put_out {
            let values: BTreeMap<String, String> =
                serde_json::from_value(put_out.outputs).unwrap_or_default();
            outputs.entry(put_out.stage_key).or_default().extend(values);
        }
        Ok(outputs)
    }
}
