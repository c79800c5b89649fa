//! Continues a fix whose session has a deployment.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::fix::{DeploymentOutcome, FixReason, FixStatus, Next, Observed};
use greenroom_domain::id::DeploymentId;

use super::claim::POLL_INTERVAL;
use super::due::DueFix;
use super::write::FixUpdate;
use crate::error::{parse_column, parse_nullable_column};
use crate::lock::{LockedEnvironment, NewSession};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Reads how the current deployment has ended, and does what `domain/fix` decides: waits, deploys the fix, or ends the
    /// session with the work in it.
    pub async fn advance_fix(&self, due: &DueFix) -> Result<(), StoreError> {
        let (Some(environment), Some(session), Some(deployment)) =
            (due.fix.environment_id, due.fix.session_id, due.fix.current_deployment())
        else {
            return self.end_fix(due, FixReason::SessionLost, None).await;
        };
        if due.is_overdue {
            return self.end_fix(due, FixReason::TimedOut, None).await;
        }
        // No row is locked: a deployment that has ended stays so, and whether the session still holds the environment is checked
        // again, with the environment's row locked, before the fix is deployed.
        let mut reading = self.system_transaction(due.organization_id).await?;
        let outcome = reading.outcome_of(due, deployment).await?;
        let holder = reading.holder_of(environment).await?;
        let is_session_held = holder == Some(session);
        let next = due.fix.progress.next(Observed { is_session_held, outcome });
        drop(reading);
        match next {
            Next::Wait => self.wait_with_fix(due).await,
            Next::End(reason) => self.end_fix(due, reason, None).await,
            Next::Open => self.open_fix(due).await,
            Next::DeployFix => self.deploy_fix(due).await,
        }
    }

    async fn wait_with_fix(&self, due: &DueFix) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        let update = FixUpdate { due_in: Some(POLL_INTERVAL), ..FixUpdate::default() };
        if transaction.write_fix(due, update).await? { transaction.commit().await } else { Ok(()) }
    }

    /// Releases the environment, and lets a worker open the pull request.
    async fn open_fix(&self, due: &DueFix) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        transaction.release_session_of(due).await?;
        let update = FixUpdate {
            status: Some(FixStatus::Opening),
            succeeded_runs: Some(due.fix.progress.succeeded_runs.saturating_add(1)),
            due_in: Some(Duration::ZERO),
            ..FixUpdate::default()
        };
        if transaction.write_fix(due, update).await? { transaction.commit().await } else { Ok(()) }
    }

    /// Deploys the fix with the requester's rights, in the session that still holds the environment.
    async fn deploy_fix(&self, due: &DueFix) -> Result<(), StoreError> {
        let fix = &due.fix;
        let (Some(environment), Some(session)) = (fix.environment_id, fix.session_id) else { return Ok(()) };
        let Some(mut command) =
            self.command(due.organization_id, fix.credential, &fix.id.to_string()).await?
        else {
            return self.end_fix(due, FixReason::RightsLost, Some("its token has ended")).await;
        };
        if !command.may_work_on_fix(fix.pipeline_id).await? {
            return self.end_fix(due, FixReason::RightsLost, Some("its requester may not deploy")).await;
        }
        let locked = command.lock_environment_by_id(environment).await?;
        let Some(locked) = locked.filter(|locked| locked.is_held_by(session)) else {
            // It has locked the environment's row, which the end of the fix locks too.
            drop(command);
            return self.end_fix(due, FixReason::SessionLost, None).await;
        };
        let id = command.deploy_for_fix(&locked, session, (&fix.commit_id, Some(&fix.branch))).await?;
        let is_repeated = fix.status() == FixStatus::Verifying;
        let update = FixUpdate {
            status: Some(FixStatus::Verifying),
            verification: Some(id),
            succeeded_runs: is_repeated.then(|| fix.progress.succeeded_runs.saturating_add(1)),
            due_in: Some(POLL_INTERVAL),
            ..FixUpdate::default()
        };
        if command.write_fix(due, update).await? { command.commit().await } else { Ok(()) }
    }
}

impl LockedEnvironment {
    fn is_held_by(&self, session: greenroom_domain::id::SessionId) -> bool {
        let held = self.state.lock.held.as_ref();
        held.is_some_and(|held| held.session == session && held.lease.expires_at > self.now)
    }
}

impl OrgTransaction {
    /// Returns how a deployment of a fix has ended.
    async fn outcome_of(
        &mut self,
        due: &DueFix,
        deployment: DeploymentId,
    ) -> Result<DeploymentOutcome, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.status, coalesce(f.is_same, false) as "is_same!", coalesce(f.is_missing, false) as "is_missing!",
                      f.reason as "reason?"
               from deployments d
               left join lateral (
                   select bool_or(f.fingerprint = $3) as is_same, bool_or(f.collected_at is null) as is_missing,
                          (array_agg(f.reason order by s.position))[1] as reason
                   from failures f
                   join stages s on s.organization_id = $1 and s.deployment_id = f.deployment_id and s.key = f.stage_key
                       and s.attempt = f.attempt and s.status in ('failed', 'errored')
                   where f.organization_id = $1 and f.deployment_id = d.id
               ) f on true
               where d.organization_id = $1 and d.id = $2"#,
            organization,
            deployment.uuid(),
            due.fix.fingerprint,
        )
        .fetch_optional(self.connection())
        .await?;
        // A deployment is never deleted before its session.
        let Some(row) = row else { return Ok(DeploymentOutcome::Canceled) };
        let same = match (row.is_same, row.is_missing) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        };
        let status = parse_column("deployments.status", &row.status)?;
        let reason = parse_nullable_column("failures.reason", row.reason.as_deref())?;
        Ok(DeploymentOutcome::new(status, same, reason))
    }

    /// Returns the session that holds an environment now.
    async fn holder_of(
        &mut self,
        environment: greenroom_domain::id::EnvironmentId,
    ) -> Result<Option<greenroom_domain::id::SessionId>, StoreError> {
        let organization = self.organization();
        let id = sqlx::query_scalar!(
            r#"select session_id as "session_id!" from environments
               where organization_id = $1 and id = $2 and session_id is not null and expires_at > clock_timestamp()"#,
            organization,
            environment.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(id.map(Into::into))
    }

    /// Releases the environment of a fix, unless its session has ended.
    pub(super) async fn release_session_of(&mut self, due: &DueFix) -> Result<(), StoreError> {
        self.release_session(due.fix.environment_id.zip(due.fix.session_id), due.fix.id).await
    }

    pub(super) async fn release_session(
        &mut self,
        place: Option<(greenroom_domain::id::EnvironmentId, greenroom_domain::id::SessionId)>,
        fix: greenroom_domain::id::FixId,
    ) -> Result<(), StoreError> {
        let Some((environment, session)) = place else { return Ok(()) };
        let Some(mut locked) = self.lock_environment_by_id(environment).await? else { return Ok(()) };
        let new = NewSession { context: Some(format!("{fix} has ended")), ..NewSession::default() };
        // A session that has ended before is left as it is.
        let _refused_if_ended = self.apply(&mut locked, LockCommand::Release(session), &new).await?;
        Ok(())
    }
}
