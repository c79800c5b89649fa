//! Events of approvals.

use greenroom_domain::approval::{ApprovalStatus, VoteChoice, subject};
use greenroom_domain::event::{EventType, NewEvent};
use serde_json::{Value, json};

use super::state::StoredApproval;
use crate::StoreError;
use crate::transaction::OrgTransaction;

/// What happened to an approval, besides its end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ApprovalEvent<'a> {
    Requested,
    Unsatisfiable,
    Voted(VoteChoice, Option<&'a str>),
    Withdrawn,
}

impl OrgTransaction {
    pub(crate) async fn record_approval_event(
        &mut self,
        approval: &StoredApproval,
        event: ApprovalEvent<'_>,
    ) -> Result<(), StoreError> {
        let mut after = payload(approval);
        let event_type = match event {
            ApprovalEvent::Requested => EventType::ApprovalRequested,
            ApprovalEvent::Unsatisfiable => EventType::ApprovalUnsatisfiable,
            ApprovalEvent::Voted(choice, comment) => {
                after["vote"] = json!({ "decision": choice, "comment": comment });
                EventType::ApprovalVoted
            }
            ApprovalEvent::Withdrawn => EventType::ApprovalWithdrawn,
        };
        self.record(approval, event_type, after, None).await
    }

    /// Records how an approval has ended. That it was canceled with its stage is part of the stage's event.
    pub(super) async fn record_approval_end(
        &mut self,
        approval: &StoredApproval,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let event_type = match approval.state.status {
            ApprovalStatus::Approved => EventType::ApprovalApproved,
            ApprovalStatus::Rejected => EventType::ApprovalRejected,
            ApprovalStatus::Expired => EventType::ApprovalExpired,
            ApprovalStatus::Invalidated => EventType::ApprovalInvalidated,
            ApprovalStatus::Superseded => EventType::ApprovalSuperseded,
            ApprovalStatus::Pending | ApprovalStatus::Canceled => return Ok(()),
        };
        self.record(approval, event_type, payload(approval), reason).await
    }

    async fn record(
        &mut self,
        approval: &StoredApproval,
        event_type: EventType,
        after: Value,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let event = NewEvent {
            event_type,
            subject: subject(approval.pipeline, approval.id),
            before: None,
            after: Some(after),
            reason: reason.map(str::to_owned),
        };
        self.record_event(event).await
    }
}

fn payload(approval: &StoredApproval) -> Value {
    json!({
        "approvalId": approval.id,
        "pipelineId": approval.pipeline,
        "deploymentId": approval.deployment,
        "stage": approval.stage,
        "environment": approval.environment,
        "status": approval.state.status,
        "subjectDigest": approval.state.subject_digest,
        "needed": approval.needed,
        "have": approval.have,
        "eligible": approval.eligible,
        "expiresAt": approval.state.expires_at,
        "validUntil": approval.state.valid_until,
    })
}
