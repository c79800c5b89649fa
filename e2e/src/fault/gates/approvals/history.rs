//! What the voters and the attackers did, and the responses.

use std::collections::HashMap;

use uuid::Uuid;

/// What a user does with the vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Approve,
    Reject,
    Withdraw,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    Stored,
    /// The error code.
    Refused(String),
    Unknown,
}

/// A request of a voter. Those of one voter are in the order in which they were sent, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct VoteRequest {
    pub(crate) approval: Uuid,
    pub(crate) user: Uuid,
    pub(crate) act: Act,
    pub(crate) response: Response,
}

/// How people who are behind a deployment attempt to approve it. Each of them has to happen.
pub(crate) const STARTED: &str = "by who started it";
pub(crate) const RETRIED: &str = "by who retried it";
pub(crate) const NAMED: &str = "by whom the service account has named";
pub(crate) const HELD: &str = "by the holder of its session";
pub(crate) const TRANSFERRED: &str = "after the session was transferred";
pub(crate) const TOOK_OVER: &str = "by the new holder of its session";
pub(crate) const WAYS: [&str; 6] = [STARTED, RETRIED, NAMED, HELD, TRANSFERRED, TOOK_OVER];

/// An attempt to approve by a person or a program that may not.
#[derive(Clone, Debug)]
pub(crate) struct Attack {
    pub(crate) approval: Uuid,
    /// How it was attempted.
    pub(crate) way: &'static str,
    /// The error code of the refusal, if the approval is still open.
    pub(crate) expected: &'static str,
    /// Whether it is also refused in this way if the approval is decided.
    pub(crate) is_always: bool,
    pub(crate) response: Response,
}

/// Who may not vote, and why.
#[derive(Clone, Debug)]
pub(crate) struct Attacker {
    pub(crate) way: &'static str,
    pub(crate) token: String,
    pub(crate) expected: &'static str,
    pub(crate) is_always: bool,
}

#[derive(Debug, Default)]
pub(crate) struct ApprovalHistory {
    pub(crate) votes: Vec<VoteRequest>,
    pub(crate) attacks: Vec<Attack>,
    /// Those who are behind each deployment.
    pub(crate) behind: HashMap<Uuid, Vec<Attacker>>,
    /// Deployments that a machine has started: they need one more approval.
    pub(crate) by_machine: Vec<Uuid>,
}
