//! The checker of approvals: pure functions that judge the responses to voters, the approvals and their events, and the
//! starts of gated stages. Each file checks one property; their ids are those of docs/reliability.md.

mod decided_once;
mod decision;
mod durable;
#[cfg(test)]
mod sample;
mod self_approval;
mod start;

use std::collections::HashMap;

use uuid::Uuid;

use super::history::ApprovalHistory;
use super::ledger::{ApprovalEvent, ApprovalLedger};
use crate::fault::finding::Finding;

/// Everything observed of approvals.
pub(crate) struct ApprovalEvidence<'a> {
    pub(crate) history: &'a ApprovalHistory,
    pub(crate) ledger: &'a ApprovalLedger,
    /// In which of the two groups each voter is. No other person may vote.
    pub(crate) voters: &'a HashMap<Uuid, [bool; 2]>,
    /// How many approvals of each group a gate needs.
    pub(crate) count: usize,
}

impl<'a> ApprovalEvidence<'a> {
    /// Returns the events of an approval, in order.
    fn events_of(&self, approval: Uuid) -> impl Iterator<Item = &'a ApprovalEvent> {
        self.ledger.events.iter().filter(move |event| event.approval == approval)
    }
}

pub(crate) fn all(evidence: &ApprovalEvidence<'_>) -> Vec<Finding> {
    let checks = [decided_once::check, durable::check, decision::check, self_approval::check, start::check];
    checks.iter().flat_map(|check| check(evidence)).collect()
}
