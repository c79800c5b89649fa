//! Claims an environment for a fix and deploys there, with the rights that the requester has at that moment.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::fix::{FixReason, FixStatus, MAX_WORK};
use greenroom_domain::id::{DeploymentId, PipelineId, SessionId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::pipeline::PipelineStatus;
use greenroom_domain::policy::{Action, check};
use jiff::SignedDuration;
use uuid::Uuid;

use super::due::DueFix;
use super::write::FixUpdate;
use crate::deployment::NewSessionDeployment;
use crate::environment_pool::EnvironmentPool;
use crate::lock::{LockedEnvironment, NewSession};
use crate::pipeline::PipelineName;
use crate::{Command, Store, StoreError};

/// How long a fix waits before the next attempt to claim.
const CLAIM_INTERVAL: Duration = Duration::from_secs(5);
/// How long after a deployment was created its state is read for the first time.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// So often the commit must have failed in the same way to be deployed no more.
const KNOWN_RED: i64 = 2;

#[boxed_futures]
impl Store {
    /// Claims a free environment for a fix and deploys the failing commit there, or the fix if the failure is known well
    /// enough. If none is free, the fix waits.
    pub async fn claim_for_fix(&self, due: &DueFix) -> Result<(), StoreError> {
        let fix = &due.fix;
        if due.is_overdue {
            return self.end_fix(due, FixReason::NoEnvironment, None).await;
        }
        let request = fix.id.to_string();
        let Some(mut command) = self.command(due.organization_id, fix.credential, &request).await? else {
            return self.end_fix(due, FixReason::RightsLost, Some("its token has ended")).await;
        };
        if !command.may_work_on_fix(fix.pipeline_id).await? {
            return self.end_fix(due, FixReason::RightsLost, Some("its requester may not deploy")).await;
        }
        let pipeline = command.pipeline(&PipelineName::Id(fix.pipeline_id)).await?;
        if pipeline.is_none_or(|pipeline| pipeline.status == PipelineStatus::Archived) {
            return self.end_fix(due, FixReason::NoEnvironment, Some("the pipeline is archived")).await;
        }
        let pool = EnvironmentPool { pipeline: fix.pipeline_id, labels: &fix.labels, ttl_seconds: None };
        let granted = match command.lock_free(pool).await? {
            Some(mut locked) => command.claim_locked_for_fix(due, &mut locked).await?.map(|id| (locked, id)),
            None => None,
        };
        let is_written = match granted {
            Some((locked, session)) => command.begin_fix(due, &locked, session).await?,
            None => {
                // What the attempt has changed is not committed.
                command = match self.command(due.organization_id, fix.credential, &request).await? {
                    Some(command) => command,
                    None => return Ok(()),
                };
                let update = FixUpdate {
                    status: Some(FixStatus::Waiting),
                    due_in: Some(CLAIM_INTERVAL),
                    ..FixUpdate::default()
                };
                command.write_fix(due, update).await?
            }
        };
        if is_written { command.commit().await } else { Ok(()) }
    }
}

impl Command {
    /// Returns whether the requester may hold a session of the pipeline and deploy there.
    pub(super) async fn may_work_on_fix(&mut self, pipeline: PipelineId) -> Result<bool, StoreError> {
        let actions = [Action::SessionHold, Action::DeploymentRunOwn];
        if !self.principal().pipelines.contains(pipeline) {
            return Ok(false);
        }
        if actions.iter().all(|action| self.principal().may(*action)) {
            return Ok(true);
        }
        let scopes = self.principal().scopes;
        let role = self.own_role_on(pipeline).await?;
        Ok(actions.iter().all(|action| check(role, scopes, *action).is_ok()))
    }

    /// Claims a free environment for as long as it may be held. Returns `None` if the token may not hold another one.
    async fn claim_locked_for_fix(
        &mut self,
        due: &DueFix,
        locked: &mut LockedEnvironment,
    ) -> Result<Option<SessionId>, StoreError> {
        let lineage = self.principal().lineage.clone();
        let is_at_session_limit = self.is_at_session_limit(locked.id).await?;
        let principal = self.principal();
        let length = SignedDuration::from_secs(locked.longest_lease_seconds);
        let claim = Claim {
            session: SessionId::from(Uuid::now_v7()),
            owner: principal.owner(),
            lineage: &lineage,
            kind: principal.token_kind,
            terms: LeaseTerms { length, max_length: length },
            max_stay: locked.max_stay,
            can_force: false,
            places: 0,
            is_at_session_limit,
        };
        let new = NewSession {
            user_name: principal.user_name.clone(),
            user_kind: principal.token_kind.to_string(),
            context: Some(format!("verifies {}", due.fix.id)),
            commit_id: None,
            credential: Some(principal.credential),
            token_name: principal.service_token.as_ref().map(|token| token.name.clone()),
        };
        let applied = self.apply(locked, LockCommand::Claim(claim), &new).await?;
        Ok(applied.is_ok().then_some(claim.session))
    }

    /// Deploys the first commit in the session of a fix.
    async fn begin_fix(
        &mut self,
        due: &DueFix,
        locked: &LockedEnvironment,
        session: SessionId,
    ) -> Result<bool, StoreError> {
        let fix = &due.fix;
        let is_known = self.count_equal_failures(due).await? >= KNOWN_RED;
        let (commit, branch) = match is_known {
            true => (&fix.commit_id, Some(fix.branch.as_str())),
            false => (&fix.failing_commit_id, fix.failing_branch.as_deref()),
        };
        let id = self.deploy_for_fix(locked, session, (commit, branch)).await?;
        let update = FixUpdate {
            status: Some(if is_known { FixStatus::Verifying } else { FixStatus::Reproducing }),
            place: Some((locked.id, session)),
            reproduction: (!is_known).then_some(id),
            verification: is_known.then_some(id),
            deadline: Some(MAX_WORK.unsigned_abs()),
            due_in: Some(POLL_INTERVAL),
            ..FixUpdate::default()
        };
        self.write_fix(due, update).await
    }

    /// Deploys a commit in the session of a fix, which holds the locked environment.
    pub(super) async fn deploy_for_fix(
        &mut self,
        locked: &LockedEnvironment,
        session: SessionId,
        (commit_id, branch): (&str, Option<&str>),
    ) -> Result<DeploymentId, StoreError> {
        let id = DeploymentId::from(Uuid::now_v7());
        let created_by = self.principal().user_id;
        self.create_deployment(locked, id, NewSessionDeployment { session, created_by, commit_id }).await?;
        if let Some(branch) = branch {
            self.set_branch(id, branch).await?;
        }
        Ok(id)
    }

    async fn count_equal_failures(&mut self, due: &DueFix) -> Result<i64, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from failures
               where organization_id = $1 and pipeline_id = $2 and fingerprint = $3 and commit_id = $4"#,
            organization,
            due.fix.pipeline_id.uuid(),
            due.fix.fingerprint,
            due.fix.failing_commit_id,
        )
        .fetch_one(self.connection())
        .await?)
    }
}
