//! The id tokens of a step: what is known about it, read in a transaction that has checked fence and lease.

use std::collections::BTreeMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::Stage;
use greenroom_domain::id::StepRunId;
use greenroom_domain::id_token::{StepIdentity, TokenEnvironment};
use jiff::Timestamp;

use super::JobCredentials;
use crate::error::{from_column, parse_column};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// The tokens that a step gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedIdTokens {
    pub identity: StepIdentity,
    /// Name of the variable → audience.
    pub audiences: BTreeMap<String, String>,
    /// The database's time of the request.
    pub requested_at: Timestamp,
}

/// The response to a request for new tokens of a step that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdTokenOutcome {
    /// `None` if the step has no id tokens.
    Granted(Option<Box<RequestedIdTokens>>),
    /// The job is not, or no longer, assigned to this runner, or the step does not run.
    Gone,
    /// The environment is held by another session now.
    FenceOutdated,
}

#[boxed_futures]
impl Store {
    /// Returns what the new tokens of a running step claim, unless its fence or lease is stale. A step of a
    /// canceled job gets them too, because it may use them to clean up.
    pub async fn refresh_id_tokens(
        &self,
        credentials: JobCredentials<'_>,
        step: StepRunId,
    ) -> Result<IdTokenOutcome, StoreError> {
        let transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some((mut transaction, _)) = self.check_fence(transaction, credentials).await? else {
            return Ok(IdTokenOutcome::FenceOutdated);
        };
        let organization = transaction.organization();
        let found = sqlx::query!(
            "select s.position, j.stage_key, d.pipeline_id, d.definition_version
             from jobs j
             join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             join step_runs s on s.organization_id = $1 and s.job_id = j.id
             where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
               and j.status = 'running' and j.lease_expires_at > clock_timestamp()
               and s.id = $5 and s.status = 'running'",
            organization,
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
            step.uuid(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(found) = found else { return Ok(IdTokenOutcome::Gone) };
        let definition =
            transaction.definition_of(found.pipeline_id.into(), found.definition_version).await?;
        let position: usize = from_column("step_runs.position", found.position)?;
        let stage = definition.stage(&found.stage_key);
        let step = stage.and_then(|stage| stage.steps.get(position));
        let tokens = match (stage, step) {
            (Some(stage), Some(step)) if !step.id_tokens.is_empty() => {
                let tokens = transaction.requested_id_tokens(credentials, stage, &step.id_tokens).await?;
                Some(Box::new(tokens))
            }
            _ => None,
        };
        Ok(IdTokenOutcome::Granted(tokens))
    }
}

impl OrgTransaction {
    /// Returns what the tokens of a step of this job claim. Credentials, fence and lease were checked in this
    /// transaction.
    pub(super) async fn requested_id_tokens(
        &mut self,
        credentials: JobCredentials<'_>,
        stage: &Stage,
        audiences: &BTreeMap<String, String>,
    ) -> Result<RequestedIdTokens, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select o.slug as organization, d.pipeline_id, p.slug as pipeline, d.purpose, e.name as "environment?",
                   e.template as "template?", j.deployment_id, j.stage_key, j.attempt, d.session_id, d.commit_id,
                   pool.name as pool, d.created_by, s.user_kind as "actor_kind?", j.proven_branch,
                   clock_timestamp() as "now!"
               from jobs j
               join organizations o on o.id = $1
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               join runner_pools pool on pool.organization_id = $1 and pool.id = j.pool_id
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               left join sessions s on s.organization_id = $1 and s.id = d.session_id and s.user_id = d.created_by
               where j.organization_id = $1 and j.id = $2"#,
            organization,
            credentials.job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let purpose = parse_column("deployments.purpose", &row.purpose)?;
        let ephemeral = row.environment.map(|name| TokenEnvironment { name, template: row.template });
        let environment = TokenEnvironment::of_job(purpose, ephemeral.as_ref(), stage.environment.as_deref());
        let identity = StepIdentity {
            organization_id: organization.into(),
            organization: row.organization,
            pipeline_id: row.pipeline_id.into(),
            pipeline: row.pipeline,
            environment,
            deployment_id: row.deployment_id.into(),
            stage: row.stage_key,
            attempt: from_column("jobs.attempt", row.attempt)?,
            session_id: row.session_id.map(Into::into),
            commit: row.commit_id,
            runner_pool: row.pool,
            actor: row.created_by.into(),
            actor_kind: row.actor_kind,
            proven_branch: row.proven_branch,
        };
        Ok(RequestedIdTokens { identity, audiences: audiences.clone(), requested_at: row.now.to_jiff() })
    }
}
