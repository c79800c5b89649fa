//! Writes of fixes, each with its event.

use std::time::Duration;

use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::fix::{FixReason, FixStatus, subject};
use greenroom_domain::id::{DeploymentId, EnvironmentId, FixId, SessionId};
use serde_json::json;

use super::due::DueFix;
use crate::StoreError;
use crate::transaction::{Actor, OrgTransaction};

/// What changes in a leased fix. What is `None` stays as it is, apart from `reason` and `detail`.
#[derive(Clone, Debug, Default)]
pub(super) struct FixUpdate<'a> {
    pub(super) status: Option<FixStatus>,
    pub(super) reason: Option<FixReason>,
    pub(super) detail: Option<&'a str>,
    pub(super) place: Option<(EnvironmentId, SessionId)>,
    pub(super) reproduction: Option<DeploymentId>,
    /// A further deployment of the fix.
    pub(super) verification: Option<DeploymentId>,
    pub(super) succeeded_runs: Option<u8>,
    pub(super) pull_request: Option<(u64, &'a str)>,
    /// The time from now until which the work has to be done.
    pub(super) deadline: Option<Duration>,
    /// When a worker continues it; `None`: never.
    pub(super) due_in: Option<Duration>,
}

impl OrgTransaction {
    /// Writes a change of a leased fix and ends the lease. Returns false if the lease was lost or the fix has been changed
    /// meanwhile; the caller must not commit then.
    pub(super) async fn write_fix(
        &mut self,
        due: &DueFix,
        update: FixUpdate<'_>,
    ) -> Result<bool, StoreError> {
        let organization = self.organization();
        let before = due.fix.status();
        let status = update.status.unwrap_or(before);
        let number = update.pull_request.map(|(number, _)| i64::try_from(number).unwrap_or(i64::MAX));
        let updated = sqlx::query!(
            "update fixes
             set status = $5, reason = $6, detail = left($7, 500), environment_id = coalesce($8, environment_id),
                 session_id = coalesce($9, session_id), reproduction_id = coalesce($10, reproduction_id),
                 verification_ids = case when $11::uuid is null then verification_ids else verification_ids || $11::uuid end,
                 succeeded_runs = coalesce($12, succeeded_runs),
                 pull_request_number = coalesce($13, pull_request_number),
                 pull_request_url = coalesce($14, pull_request_url),
                 deadline_at = coalesce(clock_timestamp() + $15 * interval '1 second', deadline_at),
                 due_at = clock_timestamp() + $16 * interval '1 second',
                 ended_at = case when $17 then clock_timestamp() end,
                 updated_at = case when status = $5 then updated_at else clock_timestamp() end,
                 leased_until = null, tries = 0
             where organization_id = $1 and id = $2 and leased_until = $3 and status = $4",
            organization,
            due.fix.id.uuid(),
            jiff_sqlx::Timestamp::from(due.leased_until) as jiff_sqlx::Timestamp,
            before.as_str(),
            status.as_str(),
            update.reason.map(FixReason::as_str),
            update.detail,
            update.place.map(|(environment, _)| environment.uuid()),
            update.place.map(|(_, session)| session.uuid()),
            update.reproduction.map(|id| id.uuid()),
            update.verification.map(|id| id.uuid()),
            update.succeeded_runs.map(i16::from),
            number,
            update.pull_request.map(|(_, url)| url),
            update.deadline.map(|deadline| deadline.as_secs_f64()),
            update.due_in.map(|due| due.as_secs_f64()),
            status.is_final(),
        )
        .execute(self.connection())
        .await?;
        if updated.rows_affected() == 0 {
            return Ok(false);
        }
        if let Some(event_type) = event_of(before, status) {
            self.record_fix_event_as(&Actor::System, event_type, due.fix.id).await?;
        }
        Ok(true)
    }

    pub(super) async fn record_fix_event(
        &mut self,
        event_type: EventType,
        id: FixId,
    ) -> Result<(), StoreError> {
        let actor = self.actor().clone();
        self.record_fix_event_as(&actor, event_type, id).await
    }

    /// Records an event about a fix. It contains no text of a log or a forge.
    async fn record_fix_event_as(
        &mut self,
        actor: &Actor,
        event_type: EventType,
        id: FixId,
    ) -> Result<(), StoreError> {
        let Some(fix) = self.fix(id).await? else { return Ok(()) };
        let event = NewEvent {
            event_type,
            subject: subject(fix.pipeline_id, id),
            before: None,
            after: Some(json!({
                "fixId": id,
                "analysisId": fix.analysis_id,
                "pipelineId": fix.pipeline_id,
                "deploymentId": fix.deployment_id,
                "stage": fix.stage,
                "fingerprint": fix.fingerprint,
                "commitId": fix.commit_id,
                "status": fix.status().as_str(),
                "sessionId": fix.session_id,
                "reproductionId": fix.reproduction_id,
                "verificationIds": fix.verification_ids,
                "pullRequest": fix.pull_request.as_ref().map(|(number, _)| number),
            })),
            reason: fix.reason.map(|reason| reason.as_str().to_owned()),
        };
        self.record_event_as(actor, event).await
    }
}

/// Returns the event of a change of the status.
fn event_of(before: FixStatus, after: FixStatus) -> Option<EventType> {
    match (before, after) {
        (before, after) if before == after => None,
        (FixStatus::Reproducing, FixStatus::Verifying) => Some(EventType::FixReproduced),
        (_, FixStatus::Opening) => Some(EventType::FixVerified),
        (_, FixStatus::Opened) => Some(EventType::FixOpened),
        (_, FixStatus::Merged) => Some(EventType::FixMerged),
        (_, FixStatus::Closed) => Some(EventType::FixClosed),
        (_, FixStatus::Refused) => Some(EventType::FixRefused),
        (_, FixStatus::Failed) => Some(EventType::FixFailed),
        (_, FixStatus::Canceled) => Some(EventType::FixCanceled),
        _ => None,
    }
}
