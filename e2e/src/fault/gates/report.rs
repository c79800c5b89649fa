//! The result of a campaign against lasting environments and approvals, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Step;
use crate::fault::deployments::fault_driver::DriverResult;
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::ledger::Ledger;
use crate::fault::finding::FindingSummary;
use crate::fault::gates::approvals::ApprovalReport;
use crate::fault::gates::history::History;
use crate::fault::gates::ledger::GateLedger;
use crate::parts::stalls::StallFigures;

/// For this many deployments, one has to become live. If almost nothing runs to its end, the run proves little.
const MAX_ENDED_PER_LIVE: usize = 5;
const WORK_SLOT: &str = "work_slot";

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Deployments that were accepted or whose acceptance is unknown.
    pub(crate) deployments: u64,
    pub(crate) ended: usize,
    pub(crate) ended_by_status: BTreeMap<String, usize>,
    /// How often a deployment has worked in an environment, from its first step there to its last.
    pub(crate) tenures: usize,
    /// How often it was live afterwards.
    pub(crate) became_live: usize,
    pub(crate) rollbacks: usize,
    pub(crate) retries: usize,
    pub(crate) holds: usize,
    pub(crate) freezes: usize,
    /// Deployments that were seen waiting, by what they waited for.
    pub(crate) waited_for: BTreeMap<String, usize>,
    /// Jobs that a runner had already taken when the gate was closed.
    pub(crate) closed_at_start: usize,
    pub(crate) overlaps: usize,
    pub(crate) faults: u64,
    /// Faults that hit a step at work.
    pub(crate) faults_while_working: u64,
    pub(crate) faults_by_kind: BTreeMap<Fault, u64>,
    /// The part with approvals, or null if there was none.
    pub(crate) approvals: Option<ApprovalReport>,
    /// Whether there was a part with lasting environments.
    #[serde(skip)]
    pub(crate) has_deployments: bool,
    pub(crate) seconds: u64,
    /// The stalls of the machine. Stalled time is not counted in the timeouts of D10.
    #[serde(flatten)]
    pub(crate) stalls: StallFigures,
    pub(crate) seed: u64,
    pub(crate) planted: Option<String>,
    /// Why this run proves nothing, or null.
    pub(crate) void: Option<String>,
    /// Whether the system clock was stepped during the run. Such a run is void whatever it has found.
    pub(crate) clock_stepped: bool,
    #[serde(flatten)]
    pub(crate) found: FindingSummary,
}

impl Report {
    pub(crate) fn count(
        &mut self,
        history: &History,
        ledger: &Ledger,
        gates: &GateLedger,
        result: &DriverResult,
    ) {
        for row in ledger.deployments.iter().filter(|row| row.ended_at.is_some()) {
            self.ended += 1;
            *self.ended_by_status.entry(row.status.clone()).or_default() += 1;
        }
        let is_closed = |reason: &str| reason == "gate_closed";
        self.closed_at_start =
            ledger.jobs.iter().filter(|job| job.reason.as_deref().is_some_and(is_closed)).count();
        self.tenures = gates.tenures.len();
        self.became_live = gates.tenures.iter().filter(|tenure| tenure.has_succeeded()).count();
        self.rollbacks = history.rolled_back.len();
        self.retries = gates.retried_at.values().map(Vec::len).sum();
        (self.holds, self.freezes) = (history.holds.len(), history.freezes.len());
        self.waited_for =
            history.waiting.iter().map(|(kind, waiting)| (kind.clone(), waiting.len())).collect();
        self.faults = result.faults.len() as u64;
        self.faults_while_working = result.hits;
        for fault in &result.faults {
            *self.faults_by_kind.entry(*fault).or_default() += 1;
        }
    }

    /// Counts overlaps and decides whether the run is void. Findings are violations also in a void run, unless the
    /// system clock was stepped.
    pub(crate) fn judge(&mut self, step: Option<Step>) {
        self.overlaps = self.found.count("D5") + self.found.count("G1");
        self.void = self.void_reason();
        if let Some(step) = step {
            (self.void, self.clock_stepped) = (Some(step.to_string()), true);
        }
    }

    fn void_reason(&self) -> Option<String> {
        let of_deployments = || self.has_deployments.then(|| self.void_reason_of_deployments()).flatten();
        self.approvals.as_ref().and_then(ApprovalReport::void_reason).or_else(of_deployments)
    }

    fn void_reason_of_deployments(&self) -> Option<String> {
        if MAX_ENDED_PER_LIVE * self.became_live < self.ended {
            let (became_live, ended) = (self.became_live, self.ended);
            return Some(format!(
                "only {became_live} times a deployment became live, and {ended} have ended"
            ));
        }
        if !self.waited_for.contains_key(WORK_SLOT) {
            return Some("no deployment has waited for another one".to_owned());
        }
        if self.waited_for.keys().all(|kind| kind == WORK_SLOT) {
            return Some("no deployment has waited for the end of a hold or a freeze".to_owned());
        }
        (2 * self.faults_while_working < self.faults).then(|| {
            let (hits, faults) = (self.faults_while_working, self.faults);
            format!("only {hits} of {faults} faults came while a step was at work")
        })
    }
}

impl CampaignReport for Report {
    fn found(&self) -> &FindingSummary {
        &self.found
    }

    fn void(&self) -> Option<&str> {
        self.void.as_deref()
    }

    fn clock_stepped(&self) -> bool {
        self.clock_stepped
    }

    fn write_summary(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { deployments, ended, tenures, holds, freezes, rollbacks, faults, .. } = self;
        writeln!(
            out,
            "{deployments} deployments, {ended} ended, {tenures} times at work in an environment; {holds} holds, \
             {freezes} freezes, {rollbacks} rollbacks, {faults} faults"
        )?;
        if let Some(ApprovalReport { approvals, votes, acknowledged_votes, attacks, faults, .. }) =
            &self.approvals
        {
            let attacks: usize = attacks.values().sum();
            writeln!(
                out,
                "{approvals} approvals, {votes} requests to vote, {acknowledged_votes} votes acknowledged, {attacks} \
                 attacks, {faults} faults"
            )?;
        }
        writeln!(out, "{} violations in {} s, seed {}", self.found.violations, self.seconds, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Report {
        let mut report =
            Report { ended: 4, became_live: 3, faults: 2, faults_while_working: 1, ..Report::default() };
        report.has_deployments = true;
        report.waited_for.insert(WORK_SLOT.to_owned(), 1);
        report.waited_for.insert("hold".to_owned(), 1);
        report
    }

    #[test]
    fn a_run_without_contention_or_effect_is_void() {
        assert_eq!(good().void_reason(), None);
        for kind in [WORK_SLOT, "hold"] {
            let mut report = good();
            report.waited_for.remove(kind);
            assert!(report.void_reason().is_some(), "{kind}");
        }
        assert!(Report { faults_while_working: 0, ..good() }.void_reason().is_some());
        assert!(Report { ended: 16, ..good() }.void_reason().is_some());
        assert_eq!(Report { ended: 16, has_deployments: false, ..good() }.void_reason(), None);
        let without_votes = Report { approvals: Some(ApprovalReport::default()), ..good() };
        assert!(without_votes.void_reason().is_some());
    }
}
