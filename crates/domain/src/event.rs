//! Events: each change is recorded once, in the transaction that makes it.

use jiff::Timestamp;
use serde_json::Value;

use crate::id::{EventId, UserId};
use crate::text_enum::text_enum;

/// The category of an event, which determines who may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Delivery: pipelines, environments, deployments. Every member reads these.
    Deployment,
    /// Administration: members, tokens, settings. Admins read these; every member reads some types of them.
    Audit,
}

text_enum!(Category { Audit = "audit", Deployment = "deployment" });

macro_rules! event_types {
    ($($variant:ident $name:literal $category:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventType {
            $($variant),*
        }

        text_enum!(EventType { $($variant = $name),* });

        impl EventType {
            pub const fn category(self) -> Category {
                match self {
                    $(Self::$variant => Category::$category),*
                }
            }
        }
    };
}

event_types! {
    OrganizationCreated "organization.created" Audit,
    OrganizationUpdated "organization.updated" Audit,
    MemberAdded         "member.added"         Audit,
    MemberUpdated       "member.updated"       Audit,
    MemberRoleChanged   "member.role_changed"  Audit,
    MemberRemoved       "member.removed"       Audit,
    MemberSignedIn      "member.signed_in"     Audit,
    MemberSignedOut     "member.signed_out"    Audit,
    MemberPasswordChanged "member.password_changed" Audit,
    MemberSignInLinkCreated "member.sign_in_link_created" Audit,
    MemberIdentityLinked "member.identity_linked" Audit,
    TokenCreated        "token.created"        Audit,
    TokenRevoked        "token.revoked"        Audit,
    TokenScopesAssigned "token.scopes_assigned" Audit,
    ServiceAccountCreated "service_account.created" Audit,
    ServiceAccountUpdated "service_account.updated" Audit,
    ServiceAccountDeleted "service_account.deleted" Audit,
    TrustPolicyCreated  "trust_policy.created" Audit,
    TrustPolicyDeleted  "trust_policy.deleted" Audit,
    TokenExchanged      "token.exchanged"      Audit,
    TokenExchangeRefused "token.exchange_refused" Audit,
    PipelineCreated     "pipeline.created"     Deployment,
    PipelineUpdated     "pipeline.updated"     Deployment,
    PipelineProtectionWeakened "pipeline.protection_weakened" Deployment,
    PipelineStopped     "pipeline.stopped"     Deployment,
    PipelineResumed     "pipeline.resumed"     Deployment,
    PipelineArchived    "pipeline.archived"    Deployment,
    CacheDeleted        "cache.deleted"        Audit,
    SessionQueued       "session.queued"       Deployment,
    SessionClaimed      "session.claimed"      Deployment,
    SessionGranted      "session.granted"      Deployment,
    SessionReleased     "session.released"     Deployment,
    SessionExpired      "session.expired"      Deployment,
    SessionOverridden   "session.overridden"   Deployment,
    SessionCanceled     "session.canceled"     Deployment,
    SessionHandoverRequested "session.handover_requested" Deployment,
    SessionHandoverDeclined "session.handover_declined" Deployment,
    SessionHandoverLapsed "session.handover_lapsed" Deployment,
    DeploymentQueued    "deployment.queued"    Deployment,
    DeploymentCanceled  "deployment.canceled"  Deployment,
    DeploymentSuperseded "deployment.superseded" Deployment,
    DeploymentStarted   "deployment.started"   Deployment,
    DeploymentWaiting   "deployment.waiting"   Deployment,
    DeploymentPaused    "deployment.paused"    Deployment,
    DeploymentResumed   "deployment.resumed"   Deployment,
    DeploymentCanceling "deployment.canceling" Deployment,
    DeploymentSucceeded "deployment.succeeded" Deployment,
    DeploymentFailed    "deployment.failed"    Deployment,
    DeploymentErrored   "deployment.errored"   Deployment,
    StageWaiting        "deployment.stage.waiting" Deployment,
    StageQueued         "deployment.stage.queued" Deployment,
    StageStarted        "deployment.stage.started" Deployment,
    StageSucceeded      "deployment.stage.succeeded" Deployment,
    StageFailed         "deployment.stage.failed" Deployment,
    StageErrored        "deployment.stage.errored" Deployment,
    StageCanceled       "deployment.stage.canceled" Deployment,
    StageSkipped        "deployment.stage.skipped" Deployment,
    StageRetried        "deployment.stage.retried" Deployment,
    StageGivenUp        "deployment.stage.given_up" Deployment,
    DeploymentGivenUp   "deployment.given_up"  Deployment,
    EnvironmentCleanupFailed "environment.cleanup_failed" Deployment,
    EnvironmentCleanupGivenUp "environment.cleanup_given_up" Deployment,
    RunnerCreated       "runner.created"       Audit,
    RunnerRevoked       "runner.revoked"       Audit,
    RunnerPoolUpdated   "runner_pool.updated"  Audit,
    SecretCreated       "secret.created"       Audit,
    SecretUpdated       "secret.updated"       Audit,
    SecretValueSet      "secret.value_set"     Audit,
    SecretActivated     "secret.activated"     Audit,
    SecretDestroyed     "secret.destroyed"     Audit,
    SecretDeleted       "secret.deleted"       Audit,
    GroupCreated        "group.created"        Audit,
    GroupUpdated        "group.updated"        Audit,
    GroupDeleted        "group.deleted"        Audit,
    GroupMemberAdded    "group.member_added"   Audit,
    GroupMemberRemoved  "group.member_removed" Audit,
    GrantCreated        "grant.created"        Audit,
    GrantUpdated        "grant.updated"        Audit,
    GrantDeleted        "grant.deleted"        Audit,
    EnvironmentHeld     "environment.held"     Deployment,
    EnvironmentHoldEnded "environment.hold_ended" Deployment,
    FreezeCreated       "freeze.created"       Deployment,
    FreezeUpdated       "freeze.updated"       Deployment,
    FreezeEnded         "freeze.ended"         Deployment,
    ApprovalRequested   "approval.requested"   Deployment,
    ApprovalVoted       "approval.voted"       Deployment,
    ApprovalWithdrawn   "approval.withdrawn"   Deployment,
    ApprovalApproved    "approval.approved"    Deployment,
    ApprovalRejected    "approval.rejected"    Deployment,
    ApprovalExpired     "approval.expired"     Deployment,
    ApprovalInvalidated "approval.invalidated" Deployment,
    ApprovalSuperseded  "approval.superseded"  Deployment,
    ApprovalUnsatisfiable "approval.unsatisfiable" Deployment,
    StageOverridden     "deployment.stage.overridden" Deployment,
    RegistryCreated     "registry.created"     Audit,
    RegistryUpdated     "registry.updated"     Audit,
    RegistryDeleted     "registry.deleted"     Audit,
    ForgeCreated        "forge.created"        Audit,
    ForgeUpdated        "forge.updated"        Audit,
    ForgeDeleted        "forge.deleted"        Audit,
    AnalysisSettingsUpdated "analysis_settings.updated" Audit,
    ModelCalled         "model.called"         Audit,
    StepPublished       "step.published"       Deployment,
    StepYanked          "step.yanked"          Deployment,
    StepTagMoved        "step.tag_moved"       Deployment,
    StepSignatureRefused "step.signature_refused" Deployment,
    FailureRecorded     "failure.recorded"     Deployment,
    FailureNoteWritten  "failure.note_written" Deployment,
    AnalysisStarted     "analysis.started"     Deployment,
    AnalysisSucceeded   "analysis.succeeded"   Deployment,
    AnalysisFailed      "analysis.failed"      Deployment,
    AnalysisRefused     "analysis.refused"     Deployment,
    AnalysisFeedbackGiven "analysis.feedback_given" Deployment,
    FixRequested        "fix.requested"        Deployment,
    FixReproduced       "fix.reproduced"       Deployment,
    FixVerified         "fix.verified"         Deployment,
    FixOpened           "fix.opened"           Deployment,
    FixMerged           "fix.merged"           Deployment,
    FixClosed           "fix.closed"           Deployment,
    FixRefused          "fix.refused"          Deployment,
    FixFailed           "fix.failed"           Deployment,
    FixCanceled         "fix.canceled"         Deployment,
}

impl EventType {
    /// Returns whether every member reads the event: those of the category `deployment`, and those that show who gave a
    /// person what approvals require. Otherwise an admin could make up a voter unseen.
    pub const fn is_read_by_members(self) -> bool {
        matches!(self.category(), Category::Deployment)
            || matches!(
                self,
                Self::MemberAdded
                    | Self::MemberRoleChanged
                    | Self::MemberSignInLinkCreated
                    | Self::GroupMemberAdded
            )
    }

    /// Returns whether the event is about a session. Such an event contains the lock of its environment.
    pub fn is_of_session(self) -> bool {
        self.as_str().starts_with("session.")
    }
}

/// An event to record. The transaction adds the actor and the request.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub event_type: EventType,
    /// The affected resource, as a path below the organization: `pipelines/pip_…`.
    pub subject: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
}

/// An event that has its sequence number in the organization's history.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    /// Dense per organization, from 1, in the order in which the changes were committed.
    pub sequence: i64,
    pub time: Timestamp,
    pub event_type: String,
    pub category: Category,
    pub subject: String,
    pub actor_id: Option<UserId>,
    pub data: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_read_who_admitted_voters() {
        let audit = EventType::ALL.iter().filter(|event_type| event_type.category() == Category::Audit);
        let read: Vec<&str> = audit
            .filter(|event_type| event_type.is_read_by_members())
            .map(|event_type| event_type.as_str())
            .collect();
        let expected =
            ["member.added", "member.role_changed", "member.sign_in_link_created", "group.member_added"];
        assert_eq!(read, expected);
    }

    #[test]
    fn types_are_noun_and_verb_and_unique() {
        let mut seen = std::collections::HashSet::new();
        for event_type in EventType::ALL {
            let (noun, verb) = event_type.as_str().split_once('.').unwrap();
            assert!(!noun.is_empty() && !verb.is_empty());
            assert!(seen.insert(event_type.as_str()));
        }
    }
}
