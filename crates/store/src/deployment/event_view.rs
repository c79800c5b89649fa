//! What events contain of a deployment and of a stage: the fields that a read returns after the transaction
//! (`api-types/session_deployment.rs`, `api-types/deployment.rs`), so that a client needs no request to learn
//! the new state.

use greenroom_domain::deployment::{
    AttemptTimes, BlockerInput, DeploymentStatus, LiveStage, Purpose, Reason, Stage, StageStatus, WaitingOn,
    deadline, ends_by, waiting_on,
};
use greenroom_domain::id::DeploymentId;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::advance::{LockedDeployment, TIMING};
use super::person::PersonRecord;
use super::record::DeploymentRecord;
use crate::StoreError;
use crate::approval::StoredApproval;
use crate::transaction::OrgTransaction;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeploymentView<'a> {
    id: DeploymentId,
    purpose: Purpose,
    commit_id: &'a str,
    status: DeploymentStatus,
    reason: Option<Reason>,
    canceled_by: Option<&'a PersonRecord>,
    retried_by: Option<&'a PersonRecord>,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    waiting_on: Vec<WaitingOn>,
    deadline_at: Option<Timestamp>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StageView<'a> {
    key: &'a str,
    name: &'a str,
    pool: &'a str,
    status: StageStatus,
    reason: Option<Reason>,
    attempt: u32,
    retry_at: Option<Timestamp>,
    canceled_by: Option<&'a PersonRecord>,
    retried_by: Option<&'a PersonRecord>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    deadline_at: Option<Timestamp>,
}

impl<'a> From<&'a DeploymentRecord> for DeploymentView<'a> {
    fn from(record: &'a DeploymentRecord) -> Self {
        Self {
            id: record.id,
            purpose: record.purpose,
            commit_id: &record.commit_id,
            status: record.status,
            reason: record.reason,
            canceled_by: record.canceled_by.as_ref(),
            retried_by: record.retried_by.as_ref(),
            created_at: record.created_at,
            started_at: record.started_at,
            ended_at: record.ended_at,
            waiting_on: record.waiting_on.clone(),
            deadline_at: record.deadline_at,
        }
    }
}

impl OrgTransaction {
    /// Returns what an event contains of a locked deployment.
    pub(super) async fn deployment_in_event(
        &mut self,
        deployment: &LockedDeployment,
    ) -> Result<Value, StoreError> {
        // What blocks a deployment that has not started depends on other deployments.
        if deployment.state.status == DeploymentStatus::Queued {
            let record = self.deployment_record(deployment.id).await?;
            return Ok(json!(record.as_ref().map(DeploymentView::from)));
        }
        Ok(json!(deployment.view()))
    }
}

impl LockedDeployment {
    /// Returns a deployment that has started or ended, as this transaction writes it.
    fn view(&self) -> DeploymentView<'_> {
        let (state, stored) = (&self.state, &self.stored);
        let has_ended = state.status.is_final();
        let started_at = stored.started_at.or_else(|| (!state.stages.is_empty()).then_some(self.now));
        let live = || state.stages.iter().filter(move |_| !has_ended);
        let ends_by = ends_by(self.purpose, started_at).filter(|_| !has_ended);
        let blocker_input = BlockerInput {
            deployment: self.id,
            slot_holder: None,
            pipeline: self.pipeline_status,
            is_teardown: self.purpose == Purpose::Teardown,
            is_at_concurrency_limit: false,
        };
        // The row keeps its reason until the status changes.
        let is_unchanged = state.status == stored.status;
        DeploymentView {
            id: self.id,
            purpose: self.purpose,
            commit_id: &self.commit_id,
            status: state.status,
            reason: state.reason.or(stored.reason.filter(|_| is_unchanged)),
            canceled_by: self.canceled_by.as_ref(),
            retried_by: self.retried_by.as_ref(),
            created_at: stored.created_at,
            started_at,
            ended_at: has_ended.then_some(self.now),
            waiting_on: waiting_on(state.status, blocker_input, live().map(|stage| self.live_stage(stage))),
            deadline_at: live().filter_map(stage_deadline).chain(ends_by).min(),
        }
    }

    fn live_stage<'a>(&'a self, stage: &'a Stage) -> LiveStage<'a> {
        let pool = self.stage_columns.get(&stage.key).map_or("", |columns| columns.pool.as_str());
        LiveStage {
            key: &stage.key,
            pool,
            environment: stage.environment.as_deref(),
            blocker: stage.blocker.as_ref(),
            approval: self.approvals.get(&stage.key).and_then(StoredApproval::progress),
            status: stage.status,
            retry_at: stage.retry_at,
        }
    }

    /// Returns a stage whose status this transaction changes.
    pub(super) fn stage_view(&self, key: &str) -> Option<StageView<'_>> {
        let stage = self.state.stages.iter().find(|stage| stage.key == key)?;
        let columns = self.stage_columns.get(key)?;
        let is_running = stage.status == StageStatus::Running;
        Some(StageView {
            key: &stage.key,
            name: &columns.name,
            pool: &columns.pool,
            status: stage.status,
            reason: stage.reason,
            attempt: stage.attempt_number,
            retry_at: stage.retry_at,
            canceled_by: columns.canceled_by.as_ref(),
            retried_by: columns.retried_by.as_ref(),
            started_at: columns.started_at.or_else(|| is_running.then_some(self.now)),
            ended_at: stage.status.is_final().then_some(self.now),
            deadline_at: stage_deadline(stage),
        })
    }
}

fn stage_deadline(stage: &Stage) -> Option<Timestamp> {
    let job = stage.job?;
    let attempt = AttemptTimes { queued_at: job.queued_at, started_at: job.started_at };
    deadline(stage.status, attempt, stage.timeout, TIMING)
}
