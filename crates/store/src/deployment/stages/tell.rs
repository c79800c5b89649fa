//! What is told of a deployment's progress.

use greenroom_domain::deployment::StageStatus;
use greenroom_domain::event::{EventType, NewEvent};
use serde_json::json;

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::deployment::advance::Held;
use crate::deployment::stages::StageRow;

impl Change {
    pub(super) async fn tell_stage(&mut self, held: &Held, row: &StageRow<'_>) -> Result<(), StoreError> {
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
            Actor::Clock => reporter(held, row).unwrap_or(Actor::Clock),
            other => other.clone(),
        };
        let reason = stage.reason.map(|reason| reason.as_str());
        self.tell_progress(held, (&actor, event_type), Some((&stage.key, stage.attempt)), reason).await
    }

    pub(crate) async fn tell_progress(
        &mut self,
        held: &Held,
        (actor, event_type): (&Actor, EventType),
        stage: Option<(&str, u32)>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut after = json!({
            "deploymentId": held.id,
            "pipelineId": held.pipeline_id,
            "status": held.state.status,
            "commitId": held.commit_id,
            "purpose": held.purpose.as_str(),
        });
        if let Some(session) = held.session_id {
            after["sessionId"] = json!(greenroom_domain::id::SessionId::from(session));
        }
        if let Some((_, name)) = &held.environment {
            after["envName"] = json!(name);
        }
        if let Some((key, attempt)) = stage {
            after["stage"] = json!(key);
            after["attempt"] = json!(attempt);
        }
        let event = NewEvent {
            event_type,
            subject: held.subject(),
            before: None,
            after: Some(after),
            reason: reason.map(str::to_owned),
        };
        self.tell_as(actor, event).await
    }
}

/// The runner whose report ended the stage. What the engine decides by itself, such as that a runner was lost, is nobody's
/// report: the job had not ended before.
fn reporter(held: &Held, row: &StageRow<'_>) -> Option<Actor> {
    let job = row.before.and_then(|stage| stage.job)?;
    let reported = row.after.status.is_end() && job.status.is_end();
    held.runners.iter().find(|(key, _)| reported && *key == row.after.key).map(|(_, runner)| runner.clone())
}

impl Held {
    /// What its events are about: its environment, so that who watches that hears of it.
    pub(crate) fn subject(&self) -> String {
        match &self.environment {
            Some((_, name)) => greenroom_domain::environment::subject(self.pipeline_id, name),
            None => format!("pipelines/{}/deployments/{}", self.pipeline_id, self.id),
        }
    }
}
