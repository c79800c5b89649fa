//! Assigns a job to a runner, and reads all that the runner needs for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{BranchProof, Purpose, required_proof};
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, JobId, PipelineId, StepRunId};
use greenroom_domain::runner_pool::Network;

use super::JobCredentials;
use crate::artifact::Artifact;
use crate::deployment::TIMING;
use crate::error::{from_column, parse_column};
use crate::transaction::{Actor, OrgTransaction};
use crate::{Store, StoreError};

/// A job that was just assigned to a runner.
#[derive(Clone, Debug)]
pub struct JobAssignment {
    pub deployment_id: DeploymentId,
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
    pub repository: Option<String>,
    /// The network access of its steps, from the current settings of its pool.
    pub network: Network,
    pub purpose: Purpose,
    pub commit_id: String,
    /// The branch that its checkout has to prove, if the pipeline has a repository.
    pub proof: Option<BranchProof>,
    pub environment: Option<JobEnvironment>,
    pub fence: Option<i64>,
    pub session_id: Option<uuid::Uuid>,
    pub stage: String,
    pub attempt: u32,
    pub timeout_seconds: u64,
    pub definition: Arc<Definition>,
    /// The steps, in order of execution.
    pub steps: Vec<AssignedStep>,
    /// Outputs of the steps of the stages that it needs, by stage and name.
    pub outputs: BTreeMap<String, BTreeMap<String, String>>,
    /// Artifacts of those stages.
    pub artifacts: Vec<Artifact>,
}

/// The ephemeral environment that a job deploys to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnvironment {
    pub name: String,
    pub url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedStep {
    pub id: StepRunId,
    pub name: String,
}

#[boxed_futures]
impl Store {
    /// Assigns a job to a runner. Returns `None` if it is no longer queued, or if its pool was restricted in
    /// the meantime and does not take it.
    pub async fn assign_job(
        &self,
        credentials: JobCredentials<'_>,
        task_token: &[u8],
        lease: Duration,
    ) -> Result<Option<JobAssignment>, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some(deployment) = transaction.deployment_of(credentials.job).await? else { return Ok(None) };
        let Some(mut locked) = transaction.lock_without_stages(deployment).await? else { return Ok(None) };
        if locked.state.cancel.is_some() || locked.state.status.is_final() {
            return Ok(None);
        }
        if transaction.refuse_restricted_job(&locked, credentials.job).await? {
            transaction.commit().await?;
            return Ok(None);
        }
        let organization = transaction.organization();
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
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.runner.name,
            credentials.secret.as_slice(),
            task_token,
            lease.as_secs_f64(),
            credentials.runner.pool_id.uuid(),
            deployment.uuid(),
            TIMING.timeout_slack.as_secs_f64(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let attempt = from_column("jobs.attempt", row.attempt)?;
        let stage = Some((row.stage_key.as_str(), attempt));
        transaction.read_stages(&mut locked).await?;
        let runner = Actor::Runner { id: credentials.runner.id, name: credentials.runner.name.clone() };
        transaction.record_progress_event(&locked, (&runner, EventType::StageStarted), stage, None).await?;
        let assignment = transaction.job_assignment(credentials.job, deployment).await?;
        let artifacts: Vec<uuid::Uuid> =
            assignment.artifacts.iter().map(|artifact| artifact.id.uuid()).collect();
        if !artifacts.is_empty() {
            transaction.record_artifact_inputs(credentials.job, deployment, &artifacts).await?;
        }
        if assignment.repository.is_some() && assignment.proof.is_some() {
            transaction.require_branch_proof(credentials.job).await?;
        }
        transaction.commit().await?;
        Ok(Some(assignment))
    }
}

impl OrgTransaction {
    /// Reads everything that is sent to the job's runner.
    async fn job_assignment(
        &mut self,
        job: JobId,
        deployment: DeploymentId,
    ) -> Result<JobAssignment, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.pipeline_id, p.slug, p.repository, d.purpose, d.commit_id, d.branch,
                      d.definition_version, coalesce(d.fence, l.fence) as fence,
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
               left join lasting_environments l on l.organization_id = $1 and l.pipeline_id = d.pipeline_id
                   and l.name = s.environment
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
        let purpose = parse_column("deployments.purpose", &row.purpose)?;
        let stage = definition.stage(&row.stage_key);
        let proof =
            stage.and_then(|stage| required_proof(&definition, purpose, stage, row.branch.as_deref()));
        Ok(JobAssignment {
            deployment_id: deployment,
            pipeline_id: row.pipeline_id.into(),
            pipeline_slug: row.slug,
            repository: row.repository,
            network: parse_column("runner_pools.network", &row.network)?,
            purpose,
            commit_id: row.commit_id,
            proof,
            environment: row.environment.map(|name| JobEnvironment { name, url: row.url }),
            fence: row.fence,
            session_id: row.session_id,
            stage: row.stage_key,
            attempt: from_column("jobs.attempt", row.attempt)?,
            timeout_seconds: from_column("stages.timeout_seconds", row.timeout_seconds)?,
            definition,
            steps: row
                .step_ids
                .into_iter()
                .zip(row.step_names)
                .map(|(id, name)| AssignedStep { id: id.into(), name })
                .collect(),
            outputs,
            artifacts,
        })
    }

    /// Requires that the job's checkout proves a branch before any step starts.
    async fn require_branch_proof(&mut self, job: JobId) -> Result<(), StoreError> {
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

    /// Returns the outputs of the steps of these stages.
    async fn outputs_of(
        &mut self,
        deployment: DeploymentId,
        stages: &[String],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
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
        for row in rows {
            let values: BTreeMap<String, String> = serde_json::from_value(row.outputs).unwrap_or_default();
            outputs.entry(row.stage_key).or_default().extend(values);
        }
        Ok(outputs)
    }
}
