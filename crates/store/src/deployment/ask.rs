//! What people ask of deployments: to begin one of the whole pipeline, to end one, to end or repeat a stage.

use greenroom_domain::deployment::{
    Cancel, Deployment, DeploymentStatus, NotRetried, Purpose, Reason, cancel_stage, retry_stage,
};
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, PipelineId};

use crate::StoreError;
use crate::change::Change;
use crate::deployment::advance::Held;
use crate::deployment::person::PersonColumns;

/// How long a step may take to end that is asked to.
pub const CANCEL_GRACE_SECONDS: i32 = 30;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Done,
    /// It was so already.
    Nothing,
    NoSuchDeployment,
    NoSuchStage,
    NotRetried(NotRetried),
    /// It cleans up after a session: that is repeated as a whole.
    Teardown,
    /// Its session has ended.
    SessionOver,
    /// Another deployment ran in the same place since.
    NewerRan(DeploymentId),
    /// What its stages have left is gone: it was too long ago.
    Expired,
}

impl Change {
    /// Accepts a deployment of all of a pipeline's stages.
    pub async fn deploy_pipeline(
        &mut self,
        id: DeploymentId,
        pipeline: PipelineId,
        (commit_id, branch, trigger): (&str, Option<&str>, &str),
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let user = self.actor().user();
        sqlx::query!(
            "insert into deployments
                 (organization_id, id, pipeline_id, definition_version, commit_id, branch, trigger, status, purpose,
                  created_by)
             select $1, $2, p.id, p.definition_version, $4, $5, $6, 'queued', 'pipeline', $7
             from pipelines p where p.organization_id = $1 and p.id = $3",
            organization,
            id.uuid(),
            pipeline.uuid(),
            commit_id,
            branch,
            trigger,
            user,
        )
        .execute(self.connection())
        .await?;
        self.wake(id).await?;
        if let Some(held) = self.hold_deployment(id).await? {
            let actor = self.actor().clone();
            self.tell_progress(&held, (&actor, EventType::DeploymentQueued), None, None).await?;
        }
        Ok(())
    }

    /// Ends a deployment: at once if nothing of it has begun, and else as soon as what runs has ended. With `force` its
    /// steps get no time to end by themselves.
    pub async fn cancel_deployment(&mut self, id: DeploymentId, force: bool) -> Result<Asked, StoreError> {
        let Some(mut held) = self.hold_deployment(id).await? else { return Ok(Asked::NoSuchDeployment) };
        if held.state.status.is_end() {
            return Ok(Asked::Nothing);
        }
        let organization = self.organization();
        let again = held.state.cancel.is_some();
        let by = PersonColumns::from(self.actor());
        // Who canceled it first has canceled it.
        sqlx::query!(
            "update deployments
             set cancel_reason = coalesce(cancel_reason, 'canceled_by_user'),
                 cancel_grace_seconds = least(cancel_grace_seconds, $3),
                 canceled_by = case when cancel_reason is null then $4 else canceled_by end,
                 canceled_by_name = case when cancel_reason is null then $5 else canceled_by_name end,
                 canceled_by_kind = case when cancel_reason is null then $6 else canceled_by_kind end
             where organization_id = $1 and id = $2",
            organization,
            id.uuid(),
            if force { 0 } else { CANCEL_GRACE_SECONDS },
            by.id,
            by.name,
            by.kind,
        )
        .execute(self.connection())
        .await?;
        if again && !force {
            return Ok(Asked::Nothing);
        }
        self.limit_leases(id.uuid()).await?;
        let before = held.state.status;
        held.state.cancel = Some(Cancel { reason: Reason::CanceledByUser });
        // Without stages nothing can be running.
        if held.state.stages.is_empty() {
            held.state.status = DeploymentStatus::Canceled;
            held.state.reason = Some(Reason::CanceledByUser);
            self.update_deployment(&held, before).await?;
            self.pass_slot_on(&held).await?;
            self.note_room(held.pipeline_id);
            return Ok(Asked::Done);
        }
        held.state.status = DeploymentStatus::Canceling;
        self.update_deployment(&held, before).await?;
        self.wake(id).await?;
        Ok(Asked::Done)
    }

    /// Ends one stage; what needs it is skipped, and the others go on.
    pub async fn cancel_stage(&mut self, id: DeploymentId, key: &str) -> Result<Asked, StoreError> {
        let Some(mut held) = self.hold_deployment(id).await? else { return Ok(Asked::NoSuchDeployment) };
        let before = held.state.clone();
        match cancel_stage(&mut held.state, key, Reason::CanceledByUser) {
            None => return Ok(Asked::NoSuchStage),
            Some(false) => return Ok(Asked::Nothing),
            Some(true) => {}
        }
        self.write_stages(&held, &before).await?;
        let (organization, by) = (self.organization(), PersonColumns::from(self.actor()));
        sqlx::query!(
            "update stages set canceled_by = $4, canceled_by_name = $5, canceled_by_kind = $6
             where organization_id = $1 and deployment_id = $2 and key = $3",
            organization,
            id.uuid(),
            key,
            by.id,
            by.name,
            by.kind,
        )
        .execute(self.connection())
        .await?;
        self.wake(id).await?;
        Ok(Asked::Done)
    }

    /// Tries a stage again, and all that follows it; a deployment that has ended goes on.
    pub async fn retry_stage(
        &mut self,
        id: DeploymentId,
        key: &str,
        latest: bool,
    ) -> Result<Asked, StoreError> {
        let Some(mut held) = self.hold_deployment(id).await? else { return Ok(Asked::NoSuchDeployment) };
        if held.purpose == Purpose::Teardown {
            return Ok(Asked::Teardown);
        }
        if held.state.status.is_end() {
            (held.state.stages, held.runners) = self.stages_of(id).await?;
            if let Some(refused) = self.why_not_again(id).await? {
                return Ok(refused);
            }
        }
        let before = held.state.clone();
        match retry_stage(&mut held.state, key) {
            Err(NotRetried::NoSuchStage) => return Ok(Asked::NoSuchStage),
            Err(refused) => return Ok(Asked::NotRetried(refused)),
            Ok(()) => {}
        }
        self.write_stages(&held, &before).await?;
        self.note_retry(&held, &before, key).await?;
        let (organization, by) = (self.organization(), PersonColumns::from(self.actor()));
        sqlx::query!(
            "update deployments d
             set status = 'running', reason = null, detail = null, ended_at = null, cancel_reason = null,
                 cancel_grace_seconds = $4, canceled_by = null, canceled_by_name = null, canceled_by_kind = null,
                 retried_by = $5, retried_by_name = $6, retried_by_kind = $7,
                 definition_version = case when $3 then p.definition_version else d.definition_version end
             from pipelines p
             where d.organization_id = $1 and d.id = $2 and p.organization_id = $1 and p.id = d.pipeline_id",
            organization,
            id.uuid(),
            latest,
            CANCEL_GRACE_SECONDS,
            by.id,
            by.name,
            by.kind,
        )
        .execute(self.connection())
        .await?;
        if let Some((environment, _)) = held.environment {
            sqlx::query!(
                "update environments set slot_deployment_id = coalesce(slot_deployment_id, $3)
                 where organization_id = $1 and id = $2",
                organization,
                environment.uuid(),
                id.uuid(),
            )
            .execute(self.connection())
            .await?;
        }
        self.wake(id).await?;
        Ok(Asked::Done)
    }

    /// Records who retried a stage, and clears `canceled_by` of it and of the stages that follow it.
    async fn note_retry(&mut self, held: &Held, before: &Deployment, key: &str) -> Result<(), StoreError> {
        let (organization, by) = (self.organization(), PersonColumns::from(self.actor()));
        let reopened: Vec<String> = held
            .stage_rows(before)
            .filter(|row| row.before != Some(row.after))
            .map(|row| row.after.key.clone())
            .collect();
        sqlx::query!(
            "update stages
             set canceled_by = null, canceled_by_name = null, canceled_by_kind = null,
                 retried_by = case when key = $4 then $5 else retried_by end,
                 retried_by_name = case when key = $4 then $6 else retried_by_name end,
                 retried_by_kind = case when key = $4 then $7 else retried_by_kind end
             where organization_id = $1 and deployment_id = $2 and key = any($3)",
            organization,
            held.id.uuid(),
            &reopened,
            key,
            by.id,
            by.name,
            by.kind,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// One that has ended goes on only if its place is still its own.
    async fn why_not_again(&mut self, id: DeploymentId) -> Result<Option<Asked>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.session_id is not null and (e.session_id is distinct from d.session_id or e.fence is distinct from d.fence
                      or e.expires_at <= clock_timestamp()) as "over!",
                      (select newer.id from deployments newer
                       where newer.organization_id = $1 and newer.pipeline_id = d.pipeline_id
                         and newer.environment_id is not distinct from d.environment_id and newer.id > d.id
                         and newer.status <> 'superseded' order by newer.id desc limit 1) as newer,
                      d.expired_at is not null as "expired!"
               from deployments d
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where d.organization_id = $1 and d.id = $2"#,
            organization,
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(if row.over {
            Some(Asked::SessionOver)
        } else if row.expired {
            Some(Asked::Expired)
        } else {
            row.newer.map(|newer| Asked::NewerRan(newer.into()))
        })
    }

    /// A stop of the pipeline with `cancel`: everything of it that runs is to end, except what cleans up. `waiting`: so is
    /// what has not begun, and never will.
    pub async fn cancel_deployments_of_pipeline(
        &mut self,
        pipeline: PipelineId,
        waiting: bool,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let by = PersonColumns::from(self.actor());
        let live = sqlx::query_scalar!(
            "update deployments
             set cancel_reason = coalesce(cancel_reason, 'pipeline_stopped'),
                 canceled_by = case when cancel_reason is null then $4 else canceled_by end,
                 canceled_by_name = case when cancel_reason is null then $5 else canceled_by_name end,
                 canceled_by_kind = case when cancel_reason is null then $6 else canceled_by_kind end
             where organization_id = $1 and pipeline_id = $2 and purpose <> 'teardown'
               and status not in ('succeeded', 'failed', 'errored', 'canceled', 'superseded')
               and ($3 or status <> 'queued')
             returning id",
            organization,
            pipeline.uuid(),
            waiting,
            by.id,
            by.name,
            by.kind,
        )
        .fetch_all(self.connection())
        .await?;
        for id in live {
            self.limit_leases(id).await?;
            self.wake(id.into()).await?;
        }
        Ok(())
    }
}
