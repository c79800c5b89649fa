//! Approvals: voting, withdrawing a vote, and overriding the gates of a stage. The votes decide in `domain/approval`.

mod view;

use greenroom_api_types::approval::{ApprovalDetails, Approve, OverridableGate, OverrideGates, Reject};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::approval::{Newcomer, SubjectDigest, VoteChoice, VoteRejected};
use greenroom_domain::id::{ApprovalId, DeploymentId};
use greenroom_domain::text::Reason;
use greenroom_domain::token::TokenKind;
use greenroom_store::Command;
use greenroom_store::approval::{ApprovalRecord, NewVote, OverriddenGates, OverrideOutcome, VoteOutcome};
use greenroom_store::page::{PageResult, Total};
use serde_json::json;

pub use self::view::{approval_view, details_view};
use crate::failure::{Code, Failure};

#[boxed_futures]
pub async fn approve(
    command: &mut Command,
    id: ApprovalId,
    request: Approve,
) -> Result<ApprovalDetails, Failure> {
    vote(command, id, VoteChoice::Approve, &request.subject_digest, request.comment.as_deref()).await
}

#[boxed_futures]
pub async fn reject(
    command: &mut Command,
    id: ApprovalId,
    request: Reject,
) -> Result<ApprovalDetails, Failure> {
    vote(command, id, VoteChoice::Reject, &request.subject_digest, Some(&request.comment)).await
}

async fn vote(
    command: &mut Command,
    id: ApprovalId,
    choice: VoteChoice,
    digest: &str,
    comment: Option<&str>,
) -> Result<ApprovalDetails, Failure> {
    let subject: SubjectDigest = digest.parse().map_err(|error| Failure::field("/subjectDigest", error))?;
    let comment = comment.map(Reason::new).transpose().map_err(|error| Failure::field("/comment", error))?;
    let comment = comment.as_ref().map(Reason::as_str);
    let outcome = command.vote(id, NewVote { choice, comment, subject: &subject }).await?;
    respond(command, id, outcome).await
}

#[boxed_futures]
pub async fn withdraw(command: &mut Command, id: ApprovalId) -> Result<ApprovalDetails, Failure> {
    let outcome = command.withdraw_vote(id).await?;
    respond(command, id, outcome).await
}

async fn respond(
    command: &mut Command,
    id: ApprovalId,
    outcome: VoteOutcome,
) -> Result<ApprovalDetails, Failure> {
    let rejected = match outcome {
        VoteOutcome::Missing => return Err(Failure::not_found()),
        VoteOutcome::Rejected(rejected) => Some(rejected),
        VoteOutcome::Done | VoteOutcome::Unchanged => None,
    };
    let (record, people) = command.approval(id).await?.ok_or_else(Failure::not_found)?;
    let previous = command.success_before(&record).await?;
    let details = details_view(record, people, previous.as_ref());
    match rejected {
        None => Ok(details),
        Some(rejected) => Err(refusal(rejected, &details)),
    }
}

/// Why a vote does not count, and how it would.
fn not_counted(newcomer: Newcomer) -> String {
    let reason = match newcomer {
        Newcomer::Joined => "You became a member after this deployment was created",
        Newcomer::Added => "A person behind this deployment added you to the organization",
        Newcomer::Enrolled => "A person behind this deployment made your sign-in link",
        Newcomer::RoleGiven => "A person behind this deployment gave you your role",
        Newcomer::Grouped => "A person behind this deployment put you into a group that a rule names",
    };
    format!(
        "{reason}, so your vote does not count. Another person whom the rules name has to vote, or you sign in through \
         an identity provider or with a link of the operator: then it does."
    )
}

fn refusal(rejected: VoteRejected, present: &ApprovalDetails) -> Failure {
    match rejected {
        VoteRejected::NeedsPerson => Failure::new(
            Code::ApprovalNeedsPerson,
            "Only people approve: vote in the dashboard, or with a token of kind `user`.",
        ),
        VoteRejected::Decided(status) => Failure::new(
            Code::ApprovalDecided,
            format!("The approval is {status}, so votes do not change it any more."),
        )
        .with("approvalStatus", status.as_str().into()),
        VoteRejected::Changed => Failure::new(
            Code::ApprovalChanged,
            "What is to be approved is not what this vote is for. Read `subject`, and vote again with its digest.",
        )
        .with("subject", json!(present.approval.subject))
        .with("subjectDigest", present.approval.subject_digest.clone().into()),
        VoteRejected::Own(because) => Failure::new(
            Code::ApprovalOwn,
            "You are behind this deployment, so another person has to approve it. `because` is why.",
        )
        .with("because", because.as_str().into()),
        VoteRejected::NotCounted(newcomer) => Failure::new(Code::ApprovalNotCounted, not_counted(newcomer))
            .with("because", newcomer.as_str().into()),
        VoteRejected::NotYours => Failure::new(
            Code::ApprovalNotYours,
            "No rule of this approval names you. `rules` has who may approve.",
        )
        .with("rules", json!(present.approval.rules)),
    }
}

/// Overrides gates of a stage. Only a person does that, not a program.
#[boxed_futures]
pub async fn override_gates(
    command: &mut Command,
    deployment: DeploymentId,
    stage: &str,
    request: OverrideGates,
) -> Result<(), Failure> {
    if command.principal().token_kind != TokenKind::User {
        return Err(refusal_of_program());
    }
    let reason = Reason::new(&request.reason).map_err(|error| Failure::field("/reason", error))?;
    if request.gates.is_empty() {
        return Err(Failure::field("/gates", "must name at least one gate: `approval` or `freeze`"));
    }
    let gates = OverriddenGates {
        approval: request.gates.contains(&OverridableGate::Approval),
        freeze: request.gates.contains(&OverridableGate::Freeze),
    };
    match command.override_gates(deployment, stage, gates, reason.as_str()).await? {
        OverrideOutcome::Done => Ok(()),
        OverrideOutcome::NoSuchDeployment | OverrideOutcome::NoSuchStage => Err(Failure::not_found()),
        OverrideOutcome::NotWaiting => Err(Failure::new(
            Code::InvalidState,
            "The stage does not wait for these gates, so there is nothing to override.",
        )),
        OverrideOutcome::NotAllowed(approval) => Err(Failure::new(
            Code::Forbidden,
            "The definition does not let your role override this approval (`override`), or it was decided meanwhile.",
        )
        .with("approvalId", approval.to_string().into())),
    }
}

/// An empty list.
pub fn nothing() -> PageResult<ApprovalRecord> {
    PageResult { rows: Vec::new(), total: Total::exactly(0) }
}

fn refusal_of_program() -> Failure {
    Failure::new(
        Code::ApprovalNeedsPerson,
        "Only people override gates: use the dashboard, or a token of kind `user`.",
    )
}
