//! Start and end of a job's steps, as reported by its runner.

use std::collections::BTreeMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{JobStatus, Purpose, Reason, StepStatus, step_may_start};
use greenroom_domain::id::StepRunId;
use greenroom_domain::output::{MAX_DEPLOYMENT_BYTES, VARIABLE_OVERHEAD_BYTES, variable_bytes};
use sqlx::PgConnection;

use super::{JobCredentials, RequestedIdTokens};
use crate::error::{from_column, parse_column};
use crate::lasting_environment::StartGate;
use crate::secret::StepSecrets;
use crate::system::sweeper::DueEnvironment;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

pub enum StepStartOutcome {
    /// The step may start as soon as this is committed.
    Accepted(Box<AcceptedStart>),
    /// The job is not, or no longer, assigned to this runner.
    Gone,
    Canceled,
    /// The checkout has to prove a branch, and has not done so.
    Unproven,
    /// A step before it has not succeeded.
    OutOfOrder,
    /// The environment is held by another session now, or another deployment works in the lasting one.
    FenceOutdated,
    /// The stage may not begin in its lasting environment any more. The job has ended, and the stage waits.
    GateClosed {
        detail: String,
        /// The token of the job's task in the engine.
        task_token: Option<Vec<u8>>,
    },
    /// The step does not get one of its secrets, or must not run any more. The job has failed.
    Refused {
        detail: String,
        /// The token of the job's task in the engine.
        task_token: Option<Vec<u8>>,
    },
}

/// A step whose start was accepted, in an open transaction. Nothing has happened if it is dropped: a caller
/// that can't open the secrets drops it.
pub struct AcceptedStart {
    pub secrets: StepSecrets,
    /// The id tokens that the step gets, if any.
    pub id_tokens: Option<RequestedIdTokens>,
    transaction: OrgTransaction,
}

#[boxed_futures]
impl AcceptedStart {
    pub async fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().await
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepResult {
    pub status: StepStatus,
    pub exit_code: Option<i32>,
    /// The explanation of the runner, which is free text.
    pub reason: Option<String>,
    pub outputs: BTreeMap<String, String>,
    pub log_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEndOutcome {
    Recorded,
    Gone,
    /// The step has not started, so it can't have ended like this.
    NotStarted,
    /// Only this many bytes of the step's log are stored.
    LogIncomplete(u64),
    /// With the outputs of this step, the outputs of the deployment would have this many bytes, which exceeds
    /// the limit.
    OutputsTooLarge(u64),
}

#[boxed_futures]
impl Store {
    /// Lets a step start, unless its fence or lease is stale. Both are checked in the transaction that writes
    /// `running` and that reads its secrets. `image_digest` is the digest of the step's image, as reported by
    /// the runner.
    pub async fn begin_step(
        &self,
        credentials: JobCredentials<'_>,
        step: StepRunId,
        image_digest: Option<&str>,
    ) -> Result<StepStartOutcome, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        if let Some(detail) = transaction.check_start_approval(credentials.job).await? {
            return transaction.close_gate(credentials, detail).await;
        }
        let Some((mut transaction, started_at)) = self.check_fence(transaction, credentials).await? else {
            return Ok(StepStartOutcome::FenceOutdated);
        };
        // Without a time, no session was checked: the deployment is that of a pipeline, or a teardown.
        if started_at.is_none() {
            match transaction.check_start_gate(credentials.job).await? {
                StartGate::Open => {}
                StartGate::SlotLost => return Ok(StepStartOutcome::FenceOutdated),
                StartGate::Closed(detail) => return transaction.close_gate(credentials, detail).await,
            }
        }
        let organization = transaction.organization();
        let begun = sqlx::query!(
            r#"with job as (
                   update jobs j set touched = true
                   from deployments d
                   where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
                     and j.status = 'running' and j.lease_expires_at > clock_timestamp()
                     and d.organization_id = $1 and d.id = j.deployment_id
                   returning coalesce(j.cancel_reason, d.cancel_reason) is not null as canceled,
                       j.must_prove and j.proven_branch is null as unproven,
                       j.stage_key, d.pipeline_id, d.definition_version
               ),
               step as (
                   update step_runs s
                   set status = 'running', started_at = coalesce(s.started_at, $6, clock_timestamp()),
                       image_digest = coalesce(s.image_digest, $7)
                   from job
                   where s.organization_id = $1 and s.id = $5 and s.job_id = $2 and s.status in ('pending', 'running')
                   returning s.position
               )
               select canceled as "canceled!", unproven as "unproven!", stage_key, pipeline_id, definition_version,
                   (select position from step) as position,
                   array(select s.status from step_runs s where s.organization_id = $1 and s.job_id = $2
                       and s.position < (select position from step) order by s.position) as "before!"
               from job"#,
            organization,
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
            step.uuid(),
            started_at as Option<jiff_sqlx::Timestamp>,
            image_digest,
        )
        .fetch_optional(transaction.connection())
        .await?;
        // Returning without a commit rolls back.
        let Some(found) = begun else { return Ok(StepStartOutcome::Gone) };
        if found.canceled {
            return Ok(StepStartOutcome::Canceled);
        }
        if found.unproven {
            return Ok(StepStartOutcome::Unproven);
        }
        let Some(position) = found.position else { return Ok(StepStartOutcome::Gone) };
        let before = found.before.iter().map(|status| parse_column("step_runs.status", status));
        if !step_may_start(&before.collect::<Result<Vec<_>, _>>()?) {
            return Ok(StepStartOutcome::OutOfOrder);
        }
        let definition =
            transaction.definition_of(found.pipeline_id.into(), found.definition_version).await?;
        let position: usize = from_column("step_runs.position", position)?;
        let stage = definition.stage(&found.stage_key);
        let definition_of_step = stage.and_then(|stage| stage.steps.get(position));
        let wanted = definition_of_step.map(|step| &step.secrets);
        let refused = match stage {
            Some(stage) => transaction.refused_step(&definition, stage).await?,
            None => None,
        };
        let secrets = match (refused, stage, wanted) {
            (Some(refused), ..) => Err(refused),
            (None, Some(stage), Some(wanted)) if !wanted.is_empty() => {
                let environment = stage.environment.as_deref();
                transaction.read_step_secrets(credentials, step, environment, wanted).await?
            }
            _ => Ok(StepSecrets::default()),
        };
        match secrets {
            Ok(secrets) => {
                let audiences = definition_of_step.map(|step| &step.id_tokens);
                let id_tokens = match (stage, audiences) {
                    (Some(stage), Some(audiences)) if !audiences.is_empty() => {
                        Some(transaction.requested_id_tokens(credentials, stage, audiences).await?)
                    }
                    _ => None,
                };
                let accepted = AcceptedStart { secrets, id_tokens, transaction };
                Ok(StepStartOutcome::Accepted(Box::new(accepted)))
            }
            Err(refused) => {
                let task_token = transaction.fail_start(credentials.job, step, &refused).await?;
                transaction.commit().await?;
                Ok(StepStartOutcome::Refused { detail: refused.detail, task_token })
            }
        }
    }

    /// Checks the fence and the lease of the environment that a job deploys to, and locks the environment.
    /// Returns `None` if another session holds it, and else the time of the check, unless nothing was checked.
    pub(super) async fn check_fence(
        &self,
        mut transaction: OrgTransaction,
        credentials: JobCredentials<'_>,
    ) -> Result<Option<(OrgTransaction, Option<jiff_sqlx::Timestamp>)>, StoreError> {
        let organization = transaction.organization();
        // The shared lock waits until a concurrent change of the holder has committed; the fence that is read
        // is then the new one.
        let place = sqlx::query!(
            r#"select e.id, e.fence, e.expires_at, d.fence as own, d.purpose
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2 for share of e"#,
            organization,
            credentials.job.uuid(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let mut started_at = None;
        if let Some(place) = place
            && place.purpose != Purpose::Teardown.as_str()
        {
            if place.own != Some(place.fence) {
                return Ok(None);
            }
            let now = transaction.now().await?;
            if place.expires_at.is_none_or(|at| at.to_jiff() <= now) {
                // A session ends when its lease expires, even if that is not recorded yet. Here it is
                // recorded by a sweep, in its own transaction.
                transaction.commit().await?;
                let (organization_id, environment_id) = (credentials.runner.organization_id, place.id.into());
                self.sweep_environment(DueEnvironment { organization_id, environment_id }).await?;
                return Ok(None);
            }
            started_at = Some(jiff_sqlx::Timestamp::from(now));
        }
        Ok(Some((transaction, started_at)))
    }

    /// Records the result of a step. Its whole log has to be stored before.
    pub async fn end_step(
        &self,
        credentials: JobCredentials<'_>,
        step: StepRunId,
        end: &StepResult,
    ) -> Result<StepEndOutcome, StoreError> {
        if end.outputs.is_empty() {
            let mut connection = self.pool().acquire().await?;
            return record_step_end(&mut connection, credentials, step, end).await;
        }
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let bytes = transaction.output_bytes(credentials, step, end).await?;
        if bytes > MAX_DEPLOYMENT_BYTES as u64 {
            return Ok(StepEndOutcome::OutputsTooLarge(bytes));
        }
        let outcome = record_step_end(transaction.connection(), credentials, step, end).await?;
        transaction.commit().await?;
        Ok(outcome)
    }
}

impl OrgTransaction {
    /// Ends a job, none of whose steps has started, because its stage may not begin any more.
    async fn close_gate(
        mut self,
        credentials: JobCredentials<'_>,
        detail: String,
    ) -> Result<StepStartOutcome, StoreError> {
        let organization = self.organization();
        let ended = sqlx::query!(
            "update jobs set status = $5, reason = $6, detail = $7, ended_at = clock_timestamp()
             where organization_id = $1 and id = $2 and runner_id = $3 and secret_hash = $4 and status = 'running'
               and lease_expires_at > clock_timestamp() and cancel_reason is null
             returning deployment_id, task_token",
            organization,
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
            JobStatus::Errored.as_str(),
            Reason::GateClosed.as_str(),
            detail,
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(ended) = ended else { return Ok(StepStartOutcome::Gone) };
        self.end_unfinished_steps(credentials.job.uuid(), JobStatus::Errored).await?;
        self.wake(ended.deployment_id.into()).await?;
        self.commit().await?;
        Ok(StepStartOutcome::GateClosed { detail, task_token: ended.task_token })
    }

    /// Returns the size of the variables made from the outputs of the deployment's current attempts,
    /// including those of this step. The deployment is locked, so that two concurrent steps don't exceed the
    /// limit together.
    async fn output_bytes(
        &mut self,
        credentials: JobCredentials<'_>,
        step: StepRunId,
        end: &StepResult,
    ) -> Result<u64, StoreError> {
        let organization = self.organization();
        let own = sqlx::query!(
            "select d.id, j.stage_key from jobs j
             join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4 for update of d",
            organization,
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(own) = own else { return Ok(0) };
        let others = sqlx::query_scalar!(
            r#"select coalesce(sum(octet_length(j.stage_key) + octet_length(o.key) + octet_length(o.value) + $4), 0)::bigint
                   as "bytes!"
               from stages s
               join jobs j on j.organization_id = $1 and j.deployment_id = s.deployment_id and j.stage_key = s.key
                   and j.attempt = s.attempt
               join step_runs r on r.organization_id = $1 and r.job_id = j.id and r.id <> $3
               cross join jsonb_each_text(r.outputs) o
               where s.organization_id = $1 and s.deployment_id = $2"#,
            organization,
            own.id,
            step.uuid(),
            VARIABLE_OVERHEAD_BYTES as i32,
        )
        .fetch_one(self.connection())
        .await?;
        let new: usize =
            end.outputs.iter().map(|(name, value)| variable_bytes(&own.stage_key, name, value)).sum();
        Ok(from_column::<_, u64>("step_runs.outputs", others)? + new as u64)
    }
}

async fn record_step_end(
    connection: &mut PgConnection,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    end: &StepResult,
) -> Result<StepEndOutcome, StoreError> {
    // A number that the column can't hold is not the length of the log, and neither is null.
    let log_bytes = i64::try_from(end.log_bytes).ok();
    let from = StepStatus::ALL.iter().filter(|before| end.status.may_end_from(**before));
    let from: Vec<String> = from.map(|before| before.as_str().to_owned()).collect();
    let row = sqlx::query!(
        r#"with found as (
               select s.status, s.log_bytes from step_runs s
               join jobs j on j.organization_id = $1 and j.id = s.job_id
               where s.organization_id = $1 and s.id = $2 and j.id = $3 and j.runner_id = $4 and j.secret_hash = $5
                 and j.status = 'running' for update of s
           ),
           noted as (
               update step_runs s
               set status = $6, exit_code = $7, reason = $8, outputs = $9, ended_at = clock_timestamp()
               from found
               where s.organization_id = $1 and s.id = $2 and found.status = any($11)
                 and found.log_bytes = $10
               returning s.id
           )
           select status, log_bytes, exists (select 1 from noted) as "noted!" from found"#,
        credentials.runner.organization_id.uuid(),
        step.uuid(),
        credentials.job.uuid(),
        credentials.runner.id.uuid(),
        credentials.secret.as_slice(),
        end.status.as_str(),
        end.exit_code,
        end.reason,
        serde_json::json!(end.outputs),
        log_bytes,
        &from,
    )
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(StepEndOutcome::Gone) };
    let before: StepStatus = parse_column("step_runs.status", &row.status)?;
    Ok(if row.noted || before == end.status {
        StepEndOutcome::Recorded
    } else if before.is_final() {
        StepEndOutcome::Gone
    } else if !end.status.may_end_from(before) {
        StepEndOutcome::NotStarted
    } else {
        StepEndOutcome::LogIncomplete(from_column("step_runs.log_bytes", row.log_bytes)?)
    })
}
