//! A deployment's stages and their newest attempts, as rows: read for the machine, and written as it left them.

mod attempt;
mod read;
mod tell;

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{Deployment, DeploymentStatus, PlannedStage, Stage, StageStatus};
use greenroom_domain::event::EventType;
use jiff::Timestamp;

use crate::StoreError;
use crate::change::Change;
use crate::deployment::advance::Held;

/// A stage as it was, if it was, and as it is.
pub(crate) struct StageRow<'a> {
    pub(crate) before: Option<&'a Stage>,
    pub(crate) after: &'a Stage,
}

impl StageRow<'_> {
    /// The machine has begun a new attempt.
    fn dispatched(&self) -> bool {
        self.after.attempt > self.before.map_or(0, |stage| stage.attempt)
    }

    /// It was planned just now, and nothing has come of it yet: its row says all of that.
    fn is_fresh(&self) -> bool {
        self.before.is_none() && self.after.status == StageStatus::Pending
    }

    fn moved(&self) -> bool {
        self.before.is_none_or(|before| before.status != self.after.status)
    }
}

impl Change {
    /// Writes what the machine changed, and tells it. `plan`: the stages are new.
    pub(crate) async fn write_deployment(
        &mut self,
        held: &Held,
        before: &Deployment,
        definition: &Definition,
        plan: Option<&[PlannedStage]>,
    ) -> Result<(), StoreError> {
        if let Some(plan) = plan {
            self.insert_stages(held, plan).await?;
        }
        let changes = held.state.status != before.status || plan.is_some();
        // What is told first happened first: it begins before its stages do, and ends after them.
        if changes && !held.state.status.is_end() {
            self.update_deployment(held, before.status).await?;
        }
        for row in held.stage_rows(before).filter(|row| row.dispatched()) {
            self.insert_job(held, row.after, definition).await?;
        }
        self.write_stages(held, before).await?;
        if changes && held.state.status.is_end() {
            self.update_deployment(held, before.status).await?;
        }
        Ok(())
    }

    /// Writes the stages that are not as they were.
    pub(crate) async fn write_stages(&mut self, held: &Held, before: &Deployment) -> Result<(), StoreError> {
        for row in held.stage_rows(before) {
            if row.before == Some(row.after) || row.is_fresh() {
                continue;
            }
            if !row.dispatched() {
                self.update_job(held, &row).await?;
            }
            self.update_stage(held, row.after).await?;
            if row.moved() {
                self.tell_stage(held, &row).await?;
            }
        }
        Ok(())
    }

    async fn insert_stages(&mut self, held: &Held, plan: &[PlannedStage]) -> Result<(), StoreError> {
        let organization = self.organization();
        for (position, stage) in plan.iter().enumerate() {
            let (verdict, verdict_reason) = stage.verdict.unzip();
            sqlx::query!(
                "insert into stages
                     (organization_id, deployment_id, key, position, name, needs, pool, status, detail, verdict,
                      verdict_reason, gated, timeout_seconds, attempts, backoff_seconds)
                 values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $11, $12, $13, $14)",
                organization,
                held.id.uuid(),
                stage.key,
                number(position),
                stage.name,
                &stage.needs,
                stage.pool,
                stage.detail,
                verdict.map(StageStatus::as_str),
                verdict_reason.map(|reason| reason.as_str()),
                stage.gated,
                i64::try_from(stage.timeout_seconds).unwrap_or(i64::MAX),
                i32::try_from(stage.attempts).unwrap_or(i32::MAX),
                i64::try_from(stage.backoff_seconds).unwrap_or(i64::MAX),
            )
            .execute(self.connection())
            .await?;
        }
        Ok(())
    }

    async fn update_stage(&mut self, held: &Held, stage: &Stage) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update stages
             set status = $4, reason = $5, retry_at = $6, attempt = $7, tried = $8,
                 started_at = case when $9 then coalesce(started_at, $10::timestamptz) else started_at end,
                 ended_at = case when $11 then $10::timestamptz end
             where organization_id = $1 and deployment_id = $2 and key = $3",
            organization,
            held.id.uuid(),
            stage.key,
            stage.status.as_str(),
            stage.reason.map(|reason| reason.as_str()),
            time(stage.retry_at) as Option<jiff_sqlx::Timestamp>,
            i32::try_from(stage.attempt).unwrap_or(i32::MAX),
            i32::try_from(stage.tried).unwrap_or(i32::MAX),
            stage.status == StageStatus::Running,
            time(Some(held.now)) as Option<jiff_sqlx::Timestamp>,
            stage.status.is_end(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(crate) async fn update_deployment(
        &mut self,
        held: &Held,
        before: DeploymentStatus,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let Held { state, .. } = held;
        sqlx::query!(
            "update deployments
             set status = $3, reason = $4, planned_at = coalesce(planned_at, $5), started_at = coalesce(started_at, $5),
                 ended_at = case when $6 then $7::timestamptz end
             where organization_id = $1 and id = $2",
            organization,
            held.id.uuid(),
            state.status.as_str(),
            state.reason.map(|reason| reason.as_str()),
            time((!state.stages.is_empty()).then_some(held.now)) as Option<jiff_sqlx::Timestamp>,
            state.status.is_end(),
            time(Some(held.now)) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        if state.status == before {
            return Ok(());
        }
        let event_type = match (before, state.status) {
            (DeploymentStatus::Queued, DeploymentStatus::Running) => EventType::DeploymentStarted,
            (DeploymentStatus::Paused, DeploymentStatus::Running) => EventType::DeploymentResumed,
            (_, DeploymentStatus::Paused) => EventType::DeploymentPaused,
            (_, DeploymentStatus::Waiting) => EventType::DeploymentWaiting,
            (_, DeploymentStatus::Canceling) => EventType::DeploymentCanceling,
            (_, DeploymentStatus::Succeeded) => EventType::DeploymentSucceeded,
            (_, DeploymentStatus::Failed) => EventType::DeploymentFailed,
            (_, DeploymentStatus::Errored) => EventType::DeploymentErrored,
            (_, DeploymentStatus::Canceled) => EventType::DeploymentCanceled,
            // It goes on; its stages tell how.
            _ => return Ok(()),
        };
        let actor = self.actor().clone();
        self.tell_progress(held, (&actor, event_type), None, state.reason.map(|reason| reason.as_str())).await
    }
}

fn time(at: Option<Timestamp>) -> Option<jiff_sqlx::Timestamp> {
    at.map(jiff_sqlx::Timestamp::from)
}

fn number(position: usize) -> i32 {
    i32::try_from(position).unwrap_or(i32::MAX)
}
