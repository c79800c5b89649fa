//! Whether a vote is accepted.

use jiff::Timestamp;

use super::exclusion::{Because, Excluded};
use super::machine::Approval;
use super::newcomer::Newcomer;
use super::status::ApprovalStatus;
use super::tally::fits_any;
use super::voter::Person;
use crate::definition::ApprovalRule;
use crate::digest::SubjectDigest;
use crate::token::TokenKind;

/// A vote that a user wants to cast or withdraw.
#[derive(Clone, Copy, Debug)]
pub struct Ballot<'a> {
    pub voter: &'a Person,
    /// The kind of token of the request. A browser session counts as `user`.
    pub token: TokenKind,
    /// What the voter has read; `None` to withdraw the vote.
    pub subject: Option<&'a SubjectDigest>,
}

/// Why a vote is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoteRejected {
    #[error("only people vote, with a token of kind `user` or in the browser")]
    NeedsPerson,
    #[error("the approval is decided")]
    Decided(ApprovalStatus),
    #[error("what is to be approved is not what the vote is for")]
    Changed,
    #[error("people do not approve what they are behind themselves")]
    Own(Because),
    #[error("no rule of the approval names this person")]
    NotYours,
    #[error("only those behind the deployment vouch for this person")]
    NotCounted(Newcomer),
}

/// Checks a vote. The first row that applies decides:
///
/// | Vote                                                | Result        |
/// |-----------------------------------------------------|---------------|
/// | by a service account, or a `ci` or `agent` token    | `NeedsPerson` |
/// | the approval has ended, or its time is over         | `Decided`     |
/// | by a person who is behind the deployment            | `Own`         |
/// | by a person whom no rule admits                     | `NotYours`    |
/// | by a person admitted by those behind the deployment | `NotCounted`  |
/// | for another subject                                 | `Changed`     |
/// | any other                                           | accepted      |
pub fn check_vote(
    approval: &Approval,
    rules: &[ApprovalRule],
    excluded: &Excluded,
    ballot: Ballot<'_>,
    now: Timestamp,
) -> Result<(), VoteRejected> {
    if ballot.voter.is_service || ballot.token != TokenKind::User {
        return Err(VoteRejected::NeedsPerson);
    }
    if approval.status.is_final() {
        return Err(VoteRejected::Decided(approval.status));
    }
    if approval.expires_at <= now {
        return Err(VoteRejected::Decided(ApprovalStatus::Expired));
    }
    if let Some(because) = excluded.people.get(&ballot.voter.id) {
        return Err(VoteRejected::Own(*because));
    }
    if !fits_any(rules, ballot.voter) {
        return Err(VoteRejected::NotYours);
    }
    if let Some(reason) =
        excluded.newcomers.as_ref().and_then(|newcomers| newcomers.reason(rules, ballot.voter))
    {
        return Err(VoteRejected::NotCounted(reason));
    }
    match ballot.subject {
        Some(subject) if *subject != approval.subject_digest => Err(VoteRejected::Changed),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "ballot_tests.rs"]
mod tests;
