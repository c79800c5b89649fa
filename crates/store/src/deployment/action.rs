//! Users' actions on deployments: deploying the whole pipeline, canceling a deployment or a stage, and
//! retrying a stage.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{
    CancelCause, Canceled, CanceledStage, Deployment, NotRetried, Reason, RetryInput, cancel, cancel_stage,
    check_other_version, retry_stage, stage_keys,
};
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, PipelineId};
use greenroom_domain::work_slot::Event;

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::deployment::final_statuses::query_with_final_statuses;
use crate::deployment::new_deployment::NewPipelineDeployment;
use crate::deployment::person::{PersonColumns, PersonRecord};
use crate::error::parse_column;
use crate::transaction::OrgTransaction;

/// How long a canceled step may take to end.
pub const CANCEL_GRACE_SECONDS: i32 = 30;

/// How a stage is retried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryOptions {
    /// With the current definition of the pipeline, instead of the deployment's.
    pub latest: bool,
    /// As a rollback: it may replace what a newer deployment has deployed.
    pub allows_older: bool,
}

/// The outcome of a user's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    Done,
    /// The deployment or stage was already in the requested state.
    Unchanged,
    NoSuchDeployment,
    NoSuchStage,
    NotRetried(NotRetried),
}

#[boxed_futures]
impl OrgTransaction {
    pub async fn deploy_pipeline(
        &mut self,
        id: DeploymentId,
        new: NewPipelineDeployment<'_>,
    ) -> Result<(), StoreError> {
        let NewPipelineDeployment {
            pipeline,
            commit_id,
            branch,
            trigger,
            allows_older: is_rollback,
            on_behalf_of,
        } = new;
        let organization = self.organization();
        let user = self.actor().user();
        sqlx::query!(
            "insert into deployments
                 (organization_id, id, pipeline_id, definition_version, commit_id, branch, trigger, status, purpose,
                  created_by, allow_older, on_behalf_of, on_behalf_of_name)
             select $1, $2, p.id, p.definition_version, $4, $5, $6, 'queued', 'pipeline', $7, $8, $9, $10
             from pipelines p where p.organization_id = $1 and p.id = $3",
            organization,
            id.uuid(),
            pipeline.uuid(),
            commit_id,
            branch,
            trigger.as_str(),
            user,
            is_rollback,
            on_behalf_of.map(|(person, _)| person.uuid()),
            on_behalf_of.map(|(_, name)| name),
        )
        .execute(self.connection())
        .await?;
        self.wake(id).await?;
        if let Some(deployment) = self.lock_deployment(id).await? {
            let actor = self.actor().clone();
            self.record_progress_event(&deployment, (&actor, EventType::DeploymentQueued), None, None)
                .await?;
        }
        Ok(())
    }

    /// Cancels a deployment: immediately if none of its stages has started, otherwise as soon as the running
    /// steps have ended. With `force` its steps get no grace time.
    pub async fn cancel_deployment(
        &mut self,
        id: DeploymentId,
        force: bool,
    ) -> Result<ActionOutcome, StoreError> {
        let Some(mut deployment) = self.lock_deployment(id).await? else {
            return Ok(ActionOutcome::NoSuchDeployment);
        };
        let cause = CancelCause::User { force };
        let Deployment { status: before, cancel: earlier, .. } = deployment.state;
        let canceled = cancel(before, deployment.purpose, earlier.is_some(), cause);
        if canceled == Canceled::Unchanged {
            return Ok(ActionOutcome::Unchanged);
        }
        let organization = self.organization();
        let by = PersonColumns::from(self.actor());
        // The first user who cancels the deployment is recorded.
        sqlx::query!(
            "update deployments
             set cancel_reason = coalesce(cancel_reason, $7),
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
            cause.reason().as_str(),
        )
        .execute(self.connection())
        .await?;
        self.limit_leases(id.uuid()).await?;
        if earlier.is_none() {
            deployment.canceled_by = PersonRecord::of_actor(self.actor());
        }
        deployment.state.cancel = Some(cause.reason());
        deployment.state.status = canceled.status(before);
        if canceled == Canceled::Ended {
            deployment.state.reason = Some(cause.reason());
            self.update_deployment(&deployment, before).await?;
            self.release_slot(&deployment).await?;
            self.mark_room(deployment.pipeline_id);
            return Ok(ActionOutcome::Done);
        }
        self.update_deployment(&deployment, before).await?;
        self.wake(id).await?;
        Ok(ActionOutcome::Done)
    }

    /// Cancels one stage. Stages that need it are skipped, and the others continue.
    pub async fn cancel_stage(&mut self, id: DeploymentId, key: &str) -> Result<ActionOutcome, StoreError> {
        let Some(mut deployment) = self.lock_deployment(id).await? else {
            return Ok(ActionOutcome::NoSuchDeployment);
        };
        let before = deployment.state.clone();
        match cancel_stage(&mut deployment.state, key, Reason::CanceledByUser) {
            CanceledStage::NoSuchStage => return Ok(ActionOutcome::NoSuchStage),
            CanceledStage::Unchanged => return Ok(ActionOutcome::Unchanged),
            CanceledStage::Done => {}
        }
        if let Some(columns) = deployment.stage_columns.get_mut(key) {
            columns.canceled_by = PersonRecord::of_actor(self.actor());
        }
        self.close_approvals(&mut deployment).await?;
        self.write_stages(&deployment, &before).await?;
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
        Ok(ActionOutcome::Done)
    }

    /// Retries a stage and all stages that follow it. A deployment that has ended continues.
    pub async fn retry_stage(
        &mut self,
        id: DeploymentId,
        key: &str,
        RetryOptions { latest, allows_older: is_rollback }: RetryOptions,
    ) -> Result<ActionOutcome, StoreError> {
        let Some(mut deployment) = self.lock_deployment(id).await? else {
            return Ok(ActionOutcome::NoSuchDeployment);
        };
        if deployment.state.status.is_final() {
            self.read_stages(&mut deployment).await?;
        }
        let input = RetryInput { allows_older: is_rollback, ..self.retry_input(&deployment).await? };
        let before = deployment.state.clone();
        if let Err(refused) = retry_stage(&mut deployment.state, key, input) {
            return Ok(ActionOutcome::NotRetried(refused));
        }
        let latest = latest && deployment.definition_version() != deployment.current_version;
        if latest && let Err(refused) = self.check_latest(&deployment, key).await? {
            return Ok(ActionOutcome::NotRetried(refused));
        }
        deployment.set_retried_by(&before, key, PersonRecord::of_actor(self.actor()));
        self.close_approvals(&mut deployment).await?;
        self.write_stages(&deployment, &before).await?;
        self.record_retry(&deployment, &before, key).await?;
        let (organization, by) = (self.organization(), PersonColumns::from(self.actor()));
        sqlx::query!(
            "update deployments d
             set status = $8, reason = null, detail = null, ended_at = null, cancel_reason = null,
                 cancel_grace_seconds = $4, canceled_by = null, canceled_by_name = null, canceled_by_kind = null,
                 retried_by = $5, retried_by_name = $6, retried_by_kind = $7,
                 retriers = case when $5::uuid is null or $5::uuid = any(d.retriers) then d.retriers else d.retriers || $5::uuid end,
                 definition_version = case when $3 then p.definition_version else d.definition_version end,
                 oldest_version = case when $3 then coalesce(d.oldest_version, d.definition_version) else d.oldest_version end,
                 allow_older = $9, accepted_at = case when $9 then clock_timestamp() else d.accepted_at end,
                 replan = d.replan or $3
             from pipelines p
             where d.organization_id = $1 and d.id = $2 and p.organization_id = $1 and p.id = d.pipeline_id",
            organization,
            id.uuid(),
            latest,
            CANCEL_GRACE_SECONDS,
            by.id,
            by.name,
            by.kind,
            deployment.state.status.as_str(),
            is_rollback,
        )
        .execute(self.connection())
        .await?;
        if let Some((environment, _)) = deployment.environment {
            self.apply_to_slot(environment, Event::Continued { deployment: id }).await?;
        }
        self.wake(id).await?;
        Ok(ActionOutcome::Done)
    }

    /// Checks that the pipeline's current definition can replace that of the deployment.
    async fn check_latest(
        &mut self,
        deployment: &LockedDeployment,
        key: &str,
    ) -> Result<Result<(), NotRetried>, StoreError> {
        let definition = self.definition_of(deployment.pipeline_id, deployment.current_version).await?;
        let environment = deployment.environment.as_ref().map(|(_, name)| name.as_str());
        let keys = stage_keys(&definition, deployment.purpose, environment).ok();
        Ok(check_other_version(&deployment.state, key, keys.as_deref()))
    }

    /// Records who retried a stage, and clears `canceled_by` of it and of the stages that follow it.
    async fn record_retry(
        &mut self,
        deployment: &LockedDeployment,
        before: &Deployment,
        key: &str,
    ) -> Result<(), StoreError> {
        let (organization, by) = (self.organization(), PersonColumns::from(self.actor()));
        let reopened: Vec<String> = deployment
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
            deployment.id.uuid(),
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

    /// Reads what determines whether stages of the deployment can be retried.
    async fn retry_input(&mut self, deployment: &LockedDeployment) -> Result<RetryInput, StoreError> {
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
            deployment.id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(RetryInput {
            purpose: deployment.purpose,
            session_ended: row.over,
            is_expired: row.expired,
            newer: row.newer.map(DeploymentId::from),
            allows_older: false,
        })
    }

    /// Cancels the running deployments of a pipeline that is stopped with `cancel`, except teardowns. With
    /// `waiting`, queued deployments are canceled too.
    pub async fn cancel_deployments_of_pipeline(
        &mut self,
        pipeline: PipelineId,
        waiting: bool,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let live = query_with_final_statuses!(
            sqlx::query,
            [
                "select id, status, purpose from deployments
             where organization_id = $1 and pipeline_id = $2 and status not in ",
                ""
            ],
            organization,
            pipeline.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let cause = CancelCause::PipelineStop { with_queued: waiting };
        let mut affected = Vec::new();
        for row in live {
            let status = parse_column("deployments.status", &row.status)?;
            let purpose = parse_column("deployments.purpose", &row.purpose)?;
            if cancel(status, purpose, false, cause) != Canceled::Unchanged {
                affected.push(row.id);
            }
        }
        let by = PersonColumns::from(self.actor());
        // Deployments that have ended in the meantime are not changed.
        let marked = query_with_final_statuses!(
            sqlx::query_scalar,
            [
                "update deployments
             set cancel_reason = coalesce(cancel_reason, $3),
                 canceled_by = case when cancel_reason is null then $4 else canceled_by end,
                 canceled_by_name = case when cancel_reason is null then $5 else canceled_by_name end,
                 canceled_by_kind = case when cancel_reason is null then $6 else canceled_by_kind end
             where organization_id = $1 and id = any($2) and status not in ",
                "
             returning id"
            ],
            organization,
            &affected,
            cause.reason().as_str(),
            by.id,
            by.name,
            by.kind,
        )
        .fetch_all(self.connection())
        .await?;
        for id in marked {
            self.limit_leases(id).await?;
            self.wake(id.into()).await?;
        }
        Ok(())
    }
}

impl LockedDeployment {
    /// Sets who retried the stage, for the events of the retry.
    fn set_retried_by(&mut self, before: &Deployment, key: &str, by: Option<PersonRecord>) {
        self.canceled_by = None;
        for (stage, before) in self.state.stages.iter().zip(&before.stages) {
            if let Some(columns) = self.stage_columns.get_mut(&stage.key).filter(|_| stage != before) {
                columns.canceled_by = None;
                if stage.key == key {
                    columns.retried_by.clone_from(&by);
                }
            }
        }
        self.retried_by = by;
    }
}
