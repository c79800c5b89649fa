//! The result of the part with approvals.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fault_driver::InjectedFaults;
use super::history::{Act, ApprovalHistory, Response, WAYS};
use super::ledger::ApprovalLedger;
use crate::fault::deployments::faults::Fault;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalReport {
    pub(crate) approvals: usize,
    pub(crate) approvals_by_status: BTreeMap<String, usize>,
    /// Requests of voters.
    pub(crate) votes: usize,
    pub(crate) acknowledged_votes: usize,
    pub(crate) withdrawn_votes: usize,
    pub(crate) refused_votes: BTreeMap<String, usize>,
    /// Requests of those who may not vote, by how they were refused.
    pub(crate) attacks: BTreeMap<String, usize>,
    /// The same, by how it was attempted.
    pub(crate) attacks_by_way: BTreeMap<&'static str, usize>,
    /// Attempts of gated stages that have started a step.
    pub(crate) starts: usize,
    pub(crate) faults: u64,
    /// Faults that hit votes on open approvals.
    pub(crate) faults_during_votes: u64,
    pub(crate) faults_by_kind: BTreeMap<Fault, u64>,
    #[serde(skip)]
    requested_faults: u64,
}

impl ApprovalReport {
    pub(super) fn of(
        history: &ApprovalHistory,
        ledger: &ApprovalLedger,
        injected: &InjectedFaults,
        requested_faults: u64,
    ) -> Self {
        let mut report = Self {
            approvals: ledger.approvals.len(),
            votes: history.votes.len(),
            starts: ledger.starts.len(),
            faults: injected.faults.len() as u64,
            faults_during_votes: injected.hits,
            requested_faults,
            ..Self::default()
        };
        for row in &ledger.approvals {
            *report.approvals_by_status.entry(row.status.clone()).or_default() += 1;
        }
        for vote in &history.votes {
            match &vote.response {
                Response::Stored if vote.act == Act::Withdraw => report.withdrawn_votes += 1,
                Response::Stored => report.acknowledged_votes += 1,
                Response::Refused(code) => *report.refused_votes.entry(code.clone()).or_default() += 1,
                Response::Unknown => {}
            }
        }
        for attack in &history.attacks {
            let response = match &attack.response {
                Response::Refused(code) => code.as_str(),
                Response::Stored => "stored",
                Response::Unknown => "unknown",
            };
            *report.attacks.entry(response.to_owned()).or_default() += 1;
            *report.attacks_by_way.entry(attack.way).or_default() += 1;
        }
        for fault in &injected.faults {
            *report.faults_by_kind.entry(*fault).or_default() += 1;
        }
        report
    }

    /// Returns why this part proves nothing, if that is so.
    pub(crate) fn void_reason(&self) -> Option<String> {
        if let Some(missing) = WAYS.iter().find(|way| !self.attacks_by_way.contains_key(*way)) {
            return Some(format!("no approval was attempted {missing}"));
        }
        let reason = if self.acknowledged_votes == 0 {
            "no vote was acknowledged"
        } else if self.withdrawn_votes == 0 {
            "no vote was withdrawn"
        } else if !self.approvals_by_status.contains_key("approved") || self.starts == 0 {
            "no stage has started with an approval"
        } else if !self.attacks.contains_key("approval_own") {
            "no person has attempted to approve their own deployment while its approval was open"
        } else if self.requested_faults > 0 && self.faults_during_votes == 0 {
            "no fault came while people voted on open approvals"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::approvals::history::RETRIED;

    fn good() -> ApprovalReport {
        ApprovalReport {
            acknowledged_votes: 2,
            withdrawn_votes: 1,
            approvals_by_status: BTreeMap::from([("approved".to_owned(), 1)]),
            attacks: BTreeMap::from([("approval_own".to_owned(), 1)]),
            attacks_by_way: WAYS.into_iter().map(|way| (way, 1)).collect(),
            starts: 1,
            faults_during_votes: 1,
            requested_faults: 2,
            ..ApprovalReport::default()
        }
    }

    #[test]
    fn a_run_without_votes_attacks_or_hits_is_void() {
        assert_eq!(good().void_reason(), None);
        assert!(ApprovalReport { acknowledged_votes: 0, ..good() }.void_reason().is_some());
        assert!(ApprovalReport { withdrawn_votes: 0, ..good() }.void_reason().is_some());
        assert!(ApprovalReport { starts: 0, ..good() }.void_reason().is_some());
        assert!(ApprovalReport { attacks: BTreeMap::new(), ..good() }.void_reason().is_some());
        assert!(ApprovalReport { faults_during_votes: 0, ..good() }.void_reason().is_some());
        let mut without_retry = good();
        without_retry.attacks_by_way.remove(RETRIED);
        assert!(without_retry.void_reason().is_some());
        let without_faults = ApprovalReport { faults_during_votes: 0, requested_faults: 0, ..good() };
        assert_eq!(without_faults.void_reason(), None);
    }
}
