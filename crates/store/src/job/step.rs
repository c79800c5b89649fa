//! The steps of a job, as its runner begins and ends them.

use std::collections::BTreeMap;

use greenroom_domain::deployment::Purpose;
use greenroom_domain::id::StepRunId;

use super::{JobWord, own_step_query};
use crate::planted::{self, Bug};
use crate::system::sweeper::DueEnvironment;
use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Yes,
    /// The job is not this runner's, or not any more.
    Gone,
    Canceled,
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
}

impl Store {
    /// Lets a step start, if nothing has overtaken it: fence and lease are looked at in the transaction that writes `running`.
    pub async fn begin_step(&self, word: JobWord<'_>, step: StepRunId) -> Result<Begun, StoreError> {
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
        let job = sqlx::query!(
            r#"update jobs j set touched = true
               from deployments d
               where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
                 and j.status = 'running' and j.lease_expires_at > clock_timestamp()
                 and d.organization_id = $1 and d.id = j.deployment_id
               returning coalesce(j.cancel_reason, d.cancel_reason) is not null as "canceled!""#,
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
        )
        .fetch_optional(change.connection())
        .await?;
        match job {
            None => return Ok(Begun::Gone),
            Some(job) if job.canceled && !planted::is(Bug::StepIgnoresFence) => return Ok(Begun::Canceled),
            Some(_) => {}
        }
        let begun = sqlx::query!(
            "update step_runs set status = 'running', started_at = coalesce(started_at, $4, clock_timestamp())
             where organization_id = $1 and id = $2 and job_id = $3 and status in ('pending', 'running')",
            organization,
            step.uuid(),
            word.job.uuid(),
            moment as Option<jiff_sqlx::Timestamp>,
        )
        .execute(change.connection())
        .await?;
        if begun.rows_affected() == 0 {
            return Ok(Begun::Gone);
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
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let organization = change.organization();
        let row = own_step_query!("s.status, s.log_bytes", " for update of s", organization, word, step)
            .fetch_optional(change.connection())
            .await?;
        let Some(row) = row else { return Ok(Noted::Gone) };
        if row.status == end.status {
            return Ok(Noted::Yes);
        }
        if row.status != "running" && row.status != "pending" {
            return Ok(Noted::Gone);
        }
        if row.log_bytes != end.log_bytes {
            return Ok(Noted::LogIncomplete(row.log_bytes));
        }
        sqlx::query!(
            "update step_runs set status = $3, exit_code = $4, reason = $5, outputs = $6, ended_at = clock_timestamp()
             where organization_id = $1 and id = $2",
            organization,
            step.uuid(),
            end.status,
            end.exit_code,
            end.reason,
            serde_json::json!(end.outputs),
        )
        .execute(change.connection())
        .await?;
        change.commit().await?;
        Ok(Noted::Yes)
    }
}
