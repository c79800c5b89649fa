//! G12: no attempt of a gated stage starts a step without a valid approval: one that was approved before, is valid at that
//! time, and was opened after the last build that the stage gets. A build has other outputs each time, so an older
//! approval is for something else.

use uuid::Uuid;

use super::ApprovalEvidence;
use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::short;
use crate::fault::finding::Finding;
use crate::fault::gates::approvals::definition::LATE;
use crate::fault::gates::approvals::ledger::{ApprovalRow, StageStart};

/// The check reads the clock, and records the start later.
const MAX_CHECK: Micros = SECOND;

pub(super) fn check(evidence: &ApprovalEvidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for start in evidence.ledger.starts.iter().filter(|start| is_gated(evidence, start)) {
        let built_at = latest(&evidence.ledger.builds, start.deployment, start.at);
        let is_same = |row: &&ApprovalRow| row.deployment == start.deployment && row.stage == start.stage;
        let permits = |row: &ApprovalRow| {
            row.status == "approved"
                && row.decided_at.is_some_and(|decided| decided <= start.at)
                && row.valid_until.is_some_and(|until| start.at < until + MAX_CHECK)
                && built_at.is_none_or(|built| built <= row.created_at)
        };
        if !evidence.ledger.approvals.iter().filter(is_same).any(permits) {
            let StageStart { deployment, stage, attempt, .. } = start;
            let text = format!("{}/{stage}/{attempt} started without a valid approval", short(*deployment));
            findings.push(Finding::new("G12", text));
        }
    }
    findings
}

/// Returns whether the stage needed an approval when it started: one of them needs it only with the newest definition.
fn is_gated(evidence: &ApprovalEvidence<'_>, start: &StageStart) -> bool {
    start.stage != LATE || latest(&evidence.ledger.late_retries, start.deployment, start.at).is_some()
}

/// Returns the last of these times of a deployment that is not after `at`.
fn latest(times: &[(Uuid, Micros)], deployment: Uuid, at: Micros) -> Option<Micros> {
    times.iter().filter(|(of, time)| *of == deployment && *time <= at).map(|(_, time)| *time).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::approvals::check::sample::{Sample, id};

    #[test]
    fn a_stage_starts_with_a_valid_approval() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.ledger.starts[0].at = 60 * SECOND;
        assert_eq!(sample.found(check), ["G12"], "it is not valid any more");
        sample.ledger.starts[0].at = 19 * SECOND;
        assert_eq!(sample.found(check), ["G12"], "it was not approved yet");
        sample.ledger.starts[0].at = 21 * SECOND;
        sample.ledger.approvals[0].status = "rejected".to_owned();
        assert_eq!(sample.found(check), ["G12"]);
        sample.ledger.approvals[0].status = "approved".to_owned();
        sample.ledger.starts[0].stage = "another".to_owned();
        assert_eq!(sample.found(check), ["G12"]);
    }

    #[test]
    fn an_approval_is_not_for_a_later_build() {
        let mut sample = Sample::good();
        sample.ledger.builds.push((id(100), 15 * SECOND));
        assert_eq!(sample.found(check), ["G12"]);
        sample.ledger.builds[1].1 = 25 * SECOND;
        assert!(sample.found(check).is_empty(), "it was built after the start");
    }

    #[test]
    fn a_gate_that_was_added_counts_from_the_retry_on() {
        let mut sample = Sample::good();
        sample.ledger.starts.push(StageStart {
            deployment: id(100),
            stage: LATE.to_owned(),
            attempt: 2,
            at: 30 * SECOND,
        });
        assert!(sample.found(check).is_empty());
        sample.ledger.late_retries.push((id(100), 29 * SECOND));
        assert_eq!(sample.found(check), ["G12"]);
    }
}
