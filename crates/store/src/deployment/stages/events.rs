//! Events of a deployment's progress.

use greenroom_domain::deployment::StageStatus;
use greenroom_domain::event::{EventType, NewEvent};
use serde_json::json;

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::deployment::stage_row::StageRow;
use crate::transaction::{Actor, OrgTransaction};

impl OrgTransaction {
    pub(super) async fn record_stage_event(
        &mut self,
        deployment: &LockedDeployment,
        row: &StageRow<'_>,
    ) -> Result<(), StoreError> {
        let stage = row.after;
        let event_type = match stage.status {
            StageStatus::Pending => EventType::StageRetried,
            StageStatus::Waiting => EventType::StageWaiting,
            StageStatus::Queued => EventType::StageQueued,
            StageStatus::Running => EventType::StageStarted,
            StageStatus::Succeeded => EventType::StageSucceeded,
            StageStatus::Failed => EventType::StageFailed,
            StageStatus::Errored => EventType::StageErrored,
            StageStatus::Canceled => EventType::StageCanceled,
            StageStatus::Skipped => EventType::StageSkipped,
        };
        let actor = match self.actor() {
            Actor::System => reporter(deployment, row).unwrap_or(Actor::System),
            other => other.clone(),
        };
        let reason = stage.reason.map(|reason| reason.as_str());
        self.record_progress_event(
            deployment,
            (&actor, event_type),
            Some((&stage.key, stage.attempt_number)),
            reason,
        )
        .await
    }

    pub(crate) async fn record_progress_event(
        &mut self,
        deployment: &LockedDeployment,
        (actor, event_type): (&Actor, EventType),
        stage: Option<(&str, u32)>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let view = self.deployment_in_event(deployment).await?;
        let mut after = json!({
            "deploymentId": deployment.id,
            "pipelineId": deployment.pipeline_id,
            "status": deployment.state.status,
            "commitId": deployment.commit_id,
            "purpose": deployment.purpose.as_str(),
            "deployment": view,
        });
        if let Some(session) = deployment.session_id {
            after["sessionId"] = json!(greenroom_domain::id::SessionId::from(session));
        }
        if let Some((_, name)) = &deployment.environment {
            after["envName"] = json!(name);
        }
        if let Some((key, attempt)) = stage {
            after["stage"] = json!(key);
            after["attempt"] = json!(attempt);
            after["stageRecord"] = json!(deployment.stage_view(key));
        }
        let event = NewEvent {
            event_type,
            subject: deployment.subject(),
            before: None,
            after: Some(after),
            reason: reason.map(str::to_owned),
        };
        self.record_event_as(actor, event).await
    }
}

/// Returns the runner whose report ended the stage. If the job had not ended before, there was no report: the
/// end was decided here, for example because the runner was lost.
fn reporter(deployment: &LockedDeployment, row: &StageRow<'_>) -> Option<Actor> {
    let job = row.before.and_then(|stage| stage.job)?;
    let reported = row.after.status.is_final() && job.status.is_final();
    let columns = deployment.stage_columns.get(&row.after.key).filter(|_| reported)?;
    columns.runner.clone()
}

impl LockedDeployment {
    /// Returns the subject of its events: its environment, if it has one, so that subscribers of the
    /// environment get them.
    pub(crate) fn subject(&self) -> String {
        match &self.environment {
            Some((_, name)) => greenroom_domain::environment::subject(self.pipeline_id, name),
            None => format!("pipelines/{}/deployments/{}", self.pipeline_id, self.id),
        }
    }
}
