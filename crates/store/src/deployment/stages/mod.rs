//! A deployment's stages and their newest attempts: read for the domain's machine, and written with its
//! changes.

mod attempt;
mod events;
mod read;

pub(crate) use read::parse_blocker;

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{Deployment, DeploymentStatus, PlannedStage, Reason, Stage, StageStatus};
use greenroom_domain::event::EventType;
use jiff::Timestamp;
use serde_json::json;

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::error::to_column;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Writes the machine's changes, and records events. `plan` holds the stages if they are new.
    pub(crate) async fn write_deployment(
        &mut self,
        deployment: &LockedDeployment,
        before: &Deployment,
        definition: &Definition,
        plan: Option<&[PlannedStage]>,
    ) -> Result<(), StoreError> {
        if let Some(plan) = plan {
            self.insert_stages(deployment, plan).await?;
            if deployment.replan {
                self.end_replan(deployment).await?;
            }
        }
        let changes = deployment.state.status != before.status || plan.is_some();
        // Events are recorded in the order in which things happen: a deployment starts before its stages, and
        // ends after them.
        if changes && !deployment.state.status.is_final() {
            self.update_deployment(deployment, before.status).await?;
        }
        for row in deployment.stage_rows(before).filter(|row| row.has_new_attempt()) {
            self.insert_job(deployment, row.after, definition).await?;
        }
        self.write_stages(deployment, before).await?;
        for row in deployment.stage_rows(before) {
            self.record_outcome(deployment, &row, definition).await?;
        }
        if changes && deployment.state.status.is_final() {
            self.update_deployment(deployment, before.status).await?;
        }
        Ok(())
    }

    /// Writes the stages that have changed.
    pub(crate) async fn write_stages(
        &mut self,
        deployment: &LockedDeployment,
        before: &Deployment,
    ) -> Result<(), StoreError> {
        for row in deployment.stage_rows(before) {
            if row.before == Some(row.after) || row.is_newly_planned() {
                continue;
            }
            if !row.has_new_attempt() {
                self.update_job(deployment, &row).await?;
            }
            self.update_stage(deployment, row.after).await?;
            if row.has_new_status() {
                self.record_stage_event(deployment, &row).await?;
            }
        }
        Ok(())
    }

    async fn insert_stages(
        &mut self,
        deployment: &LockedDeployment,
        plan: &[PlannedStage],
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        for stage in plan {
            let position = deployment.state.stages.iter().position(|other| other.key == stage.key);
            let (verdict, verdict_reason) = stage.planned_outcome.unzip();
            sqlx::query!(
                "insert into stages
                     (organization_id, deployment_id, key, position, name, needs, pool, status, detail, verdict,
                      verdict_reason, gated, timeout_seconds, attempts, backoff_seconds, environment)
                 values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $11, $12, $13, $14, $15)
                 on conflict (organization_id, deployment_id, key) do update
                 set name = excluded.name, needs = excluded.needs, pool = excluded.pool, detail = excluded.detail,
                     verdict = excluded.verdict, verdict_reason = excluded.verdict_reason, gated = excluded.gated,
                     timeout_seconds = excluded.timeout_seconds, attempts = excluded.attempts,
                     backoff_seconds = excluded.backoff_seconds, environment = excluded.environment",
                organization,
                deployment.id.uuid(),
                stage.key,
                to_column::<_, i32>("stages.position", position.unwrap_or_default())?,
                stage.name,
                &stage.needs,
                stage.pool,
                stage.detail,
                verdict.map(StageStatus::as_str),
                verdict_reason.map(|reason| reason.as_str()),
                stage.needs_approval,
                to_column::<_, i64>("stages.timeout_seconds", stage.timeout_seconds)?,
                to_column::<_, i32>("stages.max_attempts", stage.max_attempts)?,
                to_column::<_, i64>("stages.backoff_seconds", stage.backoff_seconds)?,
                stage.environment,
            )
            .execute(self.connection())
            .await?;
        }
        Ok(())
    }

    /// Writes the order of all stages after they were planned again, and that this is done.
    async fn end_replan(&mut self, deployment: &LockedDeployment) -> Result<(), StoreError> {
        let organization = self.organization();
        let keys: Vec<String> = deployment.state.stages.iter().map(|stage| stage.key.clone()).collect();
        sqlx::query!(
            "with ended as (
                 update deployments set replan = false where organization_id = $1 and id = $2
             )
             update stages s set position = o.position - 1
             from unnest($3::text[]) with ordinality as o (key, position)
             where s.organization_id = $1 and s.deployment_id = $2 and s.key = o.key",
            organization,
            deployment.id.uuid(),
            &keys,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn update_stage(&mut self, deployment: &LockedDeployment, stage: &Stage) -> Result<(), StoreError> {
        let organization = self.organization();
        let is_refused = matches!(
            stage.reason,
            Some(
                Reason::InputRefused | Reason::SecretMissing | Reason::SecretDenied | Reason::CommitNotFound
            )
        );
        let detail = deployment.failure_details.get(&stage.key).filter(|_| is_refused).map(String::as_str);
        sqlx::query!(
            "update stages
             set status = $4, reason = $5, retry_at = $6, attempt = $7, tried = $8,
                 started_at = case when $9 then coalesce(started_at, $10::timestamptz) else started_at end,
                 ended_at = case when $11 then $10::timestamptz end,
                 detail = coalesce($12, case when reason in ('input_refused', 'secret_missing', 'secret_denied') then null else detail end),
                 blocker = $13, ignores_freeze = $14
             where organization_id = $1 and deployment_id = $2 and key = $3",
            organization,
            deployment.id.uuid(),
            stage.key,
            stage.status.as_str(),
            stage.reason.map(|reason| reason.as_str()),
            time(stage.retry_at) as Option<jiff_sqlx::Timestamp>,
            to_column::<_, i32>("stages.attempt", stage.attempt_number)?,
            to_column::<_, i32>("stages.tried", stage.attempts_since_retry)?,
            stage.status == StageStatus::Running,
            time(Some(deployment.now)) as Option<jiff_sqlx::Timestamp>,
            stage.status.is_final(),
            detail as Option<&str>,
            stage.blocker.as_ref().map(|blocker| json!(blocker)) as Option<serde_json::Value>,
            stage.ignores_freeze,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(crate) async fn update_deployment(
        &mut self,
        deployment: &LockedDeployment,
        before: DeploymentStatus,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let LockedDeployment { state, .. } = deployment;
        sqlx::query!(
            "update deployments
             set status = $3, reason = $4, planned_at = coalesce(planned_at, $5), started_at = coalesce(started_at, $5),
                 ended_at = case when $6 then $7::timestamptz end
             where organization_id = $1 and id = $2",
            organization,
            deployment.id.uuid(),
            state.status.as_str(),
            state.reason.map(|reason| reason.as_str()),
            time((!state.stages.is_empty()).then_some(deployment.now)) as Option<jiff_sqlx::Timestamp>,
            state.status.is_final(),
            time(Some(deployment.now)) as Option<jiff_sqlx::Timestamp>,
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
            (_, DeploymentStatus::Superseded) => EventType::DeploymentSuperseded,
            // The deployment continues. Its stages have their own events.
            _ => return Ok(()),
        };
        let actor = self.actor().clone();
        self.record_progress_event(
            deployment,
            (&actor, event_type),
            None,
            state.reason.map(|reason| reason.as_str()),
        )
        .await
    }
}

fn time(at: Option<Timestamp>) -> Option<jiff_sqlx::Timestamp> {
    at.map(jiff_sqlx::Timestamp::from)
}
