//! The steps of a job, as its runner begins and ends them.

use std::collections::BTreeMap;

use greenroom_domain::deployment::Purpose;
use greenroom_domain::id::StepRunId;
use greenroom_domain::output::{MAX_DEPLOYMENT_BYTES, VARIABLE_OVERHEAD_BYTES, variable_bytes};
use sqlx::PgConnection;

use super::JobWord;
use crate::change::Change;
use crate::planted::{self, Bug};
use crate::system::sweeper::DueEnvironment;
use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Yes,
    /// The job is not this runner's, or not any more.
    Gone,
    Canceled,
    /// The checkout has not proven a branch, as it has to.
    Unproven,
    /// The environment has passed on to another session.
    FenceOutdated,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedStep {
    pub status: String,
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    pub outputs: BTreeMap<String, String>,
    pub log_bytes: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    Yes,
    Gone,
    /// Of the step's log, only this much is here.
    LogIncomplete(i64),
    /// With its outputs those of the deployment would have this many bytes, which is more than they may have.
    OutputsTooLarge(i64),
}

impl Store {
    /// Lets a step start, if nothing has overtaken it: fence and lease are looked at in the transaction that writes `running`.
    /// `image_digest` is what the runner reports of the step's image.
    pub async fn begin_step(
        &self,
        word: JobWord<'_>,
        step: StepRunId,
        image_digest: Option<&str>,
    ) -> Result<Begun, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let organization = change.organization();
        // An environment that is just changing hands is waited for: afterwards its fence is another.
        let place = sqlx::query!(
            r#"select e.id, e.fence, e.expires_at, d.fence as own, d.purpose
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2 for share of e"#,
            organization,
            word.job.uuid(),
        )
        .fetch_optional(change.connection())
        .await?;
        let mut moment = None;
        if let Some(place) = place
            && place.purpose != Purpose::Teardown.as_str()
            && !planted::is(Bug::StepIgnoresFence)
        {
            if place.own != Some(place.fence) {
                return Ok(Begun::FenceOutdated);
            }
            let now = change.now().await?;
            if place.expires_at.is_none_or(|at| at.to_jiff() <= now) {
                // A lease ends by the clock and not when somebody notices: who comes across it settles it.
                change.commit().await?;
                let (organization_id, environment_id) = (word.runner.organization_id, place.id.into());
                self.sweep_environment(DueEnvironment { organization_id, environment_id }).await?;
                return Ok(Begun::FenceOutdated);
            }
            moment = Some(jiff_sqlx::Timestamp::from(now));
        }
        let begun = sqlx::query!(
            r#"with job as (
                   update jobs j set touched = true
                   from deployments d
                   where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
                     and j.status = 'running' and j.lease_expires_at > clock_timestamp()
                     and d.organization_id = $1 and d.id = j.deployment_id
                   returning coalesce(j.cancel_reason, d.cancel_reason) is not null as canceled,
                       j.must_prove and j.proven_branch is null as unproven
               ),
               step as (
                   update step_runs s
                   set status = 'running', started_at = coalesce(s.started_at, $6, clock_timestamp()),
                       image_digest = coalesce(s.image_digest, $7)
                   from job
                   where s.organization_id = $1 and s.id = $5 and s.job_id = $2 and s.status in ('pending', 'running')
                   returning s.id
               )
               select canceled as "canceled!", unproven as "unproven!", exists (select 1 from step) as "begun!" from job"#,
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
            step.uuid(),
            moment as Option<jiff_sqlx::Timestamp>,
            image_digest,
        )
        .fetch_optional(change.connection())
        .await?;
        match begun {
            // Without a commit nothing of it has happened.
            Some(found) if found.canceled && !planted::is(Bug::StepIgnoresFence) => {
                return Ok(Begun::Canceled);
            }
            Some(found) if found.unproven => return Ok(Begun::Unproven),
            Some(found) if found.begun => {}
            _ => return Ok(Begun::Gone),
        }
        change.commit().await?;
        Ok(Begun::Yes)
    }

    /// Notes how a step ended. Its log has to be here before.
    pub async fn end_step(
        &self,
        word: JobWord<'_>,
        step: StepRunId,
        end: &EndedStep,
    ) -> Result<Noted, StoreError> {
        if end.outputs.is_empty() {
            let mut connection = self.pool().acquire().await?;
            return note_end(&mut connection, word, step, end).await;
        }
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let bytes = change.output_bytes(word, step, end).await?;
        if bytes > MAX_DEPLOYMENT_BYTES as i64 {
            return Ok(Noted::OutputsTooLarge(bytes));
        }
        let noted = note_end(change.connection(), word, step, end).await?;
        change.commit().await?;
        Ok(noted)
    }
}

impl Change {
    /// How many bytes the variables have that the outputs of the deployment's current attempts make, with those of this
    /// step. The deployment is locked, so that two steps that end at the same moment don't exceed the limit together.
    async fn output_bytes(
        &mut self,
        word: JobWord<'_>,
        step: StepRunId,
        end: &EndedStep,
    ) -> Result<i64, StoreError> {
        let organization = self.organization();
        let own = sqlx::query!(
            "select d.id, j.stage_key from jobs j
             join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4 for update of d",
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
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
        Ok(others.saturating_add(i64::try_from(new).unwrap_or(i64::MAX)))
    }
}

async fn note_end(
    connection: &mut PgConnection,
    word: JobWord<'_>,
    step: StepRunId,
    end: &EndedStep,
) -> Result<Noted, StoreError> {
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
               where s.organization_id = $1 and s.id = $2 and found.status in ('running', 'pending')
                 and found.log_bytes = $10
               returning s.id
           )
           select status, log_bytes, exists (select 1 from noted) as "noted!" from found"#,
        word.runner.organization_id.uuid(),
        step.uuid(),
        word.job.uuid(),
        word.runner.id.uuid(),
        word.secret.as_slice(),
        end.status,
        end.exit_code,
        end.reason,
        serde_json::json!(end.outputs),
        end.log_bytes,
    )
    .fetch_optional(connection)
    .await?;
    Ok(match row {
        Some(row) if row.noted || row.status == end.status => Noted::Yes,
        Some(row) if row.status == "running" || row.status == "pending" => {
            Noted::LogIncomplete(row.log_bytes)
        }
        _ => Noted::Gone,
    })
}
