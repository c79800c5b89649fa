//! What is told of a deployment's progress.

use greenroom_domain::deployment::{Stage, StageStatus};
use greenroom_domain::event::{EventType, NewEvent};
use serde_json::json;

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::deployment::advance::Held;

impl Change {
    pub(super) async fn tell_stage(&mut self, held: &Held, stage: &Stage) -> Result<(), StoreError> {
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
        let actor = self.actor().clone();
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

impl Held {
    /// What its events are about: its environment, so that who watches that hears of it.
    pub(crate) fn subject(&self) -> String {
        match &self.environment {
            Some((_, name)) => greenroom_domain::environment::subject(self.pipeline_id, name),
            None => format!("pipelines/{}/deployments/{}", self.pipeline_id, self.id),
        }
    }
}
