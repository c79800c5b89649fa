//! G2: what an environment's history records agrees with what happened: a deployment's steps work there only within
//! one of its recorded times, and these times do not overlap.

use std::collections::HashSet;

use crate::fault::deployments::check::{CLOCK_MARGIN, short};
use crate::fault::finding::Finding;
use crate::fault::gates::check::{Evidence, name};
use crate::fault::gates::history::Place;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for place in evidence.places() {
        findings.extend(overlaps(evidence, place));
        findings.extend(unrecorded(evidence, place));
    }
    for row in &evidence.gates.environments {
        if let Some(slot) = row.slot {
            let text = format!("the work slot of {} is still {}'s", name(row.place), short(slot));
            findings.push(Finding::new("G2", text));
        }
    }
    findings
}

fn overlaps(evidence: &Evidence<'_>, place: Place) -> Vec<Finding> {
    let tenures = evidence.tenures_in(place);
    let pairs = tenures.clone().zip(tenures.skip(1));
    let overlapping = pairs.filter(|(one, next)| one.ended_at.is_none_or(|ended| next.began_at < ended));
    let text = |(one, next): (&crate::fault::gates::ledger::TenureRow, _)| {
        let next: &crate::fault::gates::ledger::TenureRow = next;
        format!("{}: fence {} had not ended when {} began", name(place), one.fence, next.fence)
    };
    overlapping.map(|pair| Finding::new("G2", text(pair))).collect()
}

/// Returns one finding for each attempt with a step that is outside of its deployment's recorded times.
fn unrecorded(evidence: &Evidence<'_>, place: Place) -> Vec<Finding> {
    let (mut findings, mut reported) = (Vec::new(), HashSet::new());
    for line in evidence.lines_in(place) {
        let is_within = evidence.tenures_in(place).any(|tenure| {
            tenure.deployment == line.step.deployment
                && tenure.began_at <= line.at + CLOCK_MARGIN
                && tenure.ended_at.is_none_or(|ended| line.at <= ended + CLOCK_MARGIN)
        });
        if !is_within && reported.insert(line.job) {
            let (deployment, stage) = (short(line.step.deployment), &line.step.stage);
            let text =
                format!("{deployment}/{stage} worked in {} outside of its recorded times", name(place));
            findings.push(Finding::new("G2", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::clock::SECOND;
    use crate::fault::gates::check::sample::{Sample, id};

    #[test]
    fn work_is_recorded() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.step(1, "verify", 40, 41);
        assert_eq!(sample.found(check), ["G2"]);
    }

    #[test]
    fn recorded_times_do_not_overlap() {
        let mut sample = Sample::good();
        sample.gates.tenures[0].ended_at = Some(21 * SECOND);
        assert_eq!(sample.found(check), ["G2"]);
    }

    #[test]
    fn no_slot_is_left() {
        let mut sample = Sample::good();
        sample.gates.environments[0].slot = Some(id(1));
        assert_eq!(sample.found(check), ["G2"]);
    }
}
