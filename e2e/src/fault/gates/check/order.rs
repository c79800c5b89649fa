//! G3: never backwards by accident. No deployment begins in an environment in which one was live that was accepted
//! later, unless a user requested it as a rollback. And the times of acceptance are those that the clients saw.

use crate::fault::deployments::check::{CLOCK_MARGIN, short};
use crate::fault::finding::Finding;
use crate::fault::gates::check::{Evidence, name};

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = misdated(evidence);
    for place in evidence.places() {
        for tenure in evidence.tenures_in(place).filter(|tenure| !evidence.allows_older(tenure.deployment)) {
            let accepted_at = evidence.accepted_at(tenure);
            let newer =
                evidence.tenures_in(place).take_while(|other| other.fence < tenure.fence).find(|other| {
                    other.has_succeeded()
                        && other.deployment != tenure.deployment
                        && evidence.accepted_at(other) > accepted_at
                });
            if let Some(newer) = newer {
                let (one, other) = (short(tenure.deployment), short(newer.deployment));
                let text = format!("{}: {one} began although {other}, which is newer, was live", name(place));
                findings.push(Finding::new("G3", text));
            }
        }
    }
    findings
}

/// Returns a finding for each deployment that was created before its request or after the response.
fn misdated(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in &evidence.ledger.deployments {
        let Some(start) = evidence.history.starts.get(&row.commit) else { continue };
        let is_early = row.created_at + CLOCK_MARGIN < start.sent_at;
        let is_late = start.acknowledged_at.is_some_and(|at| at + CLOCK_MARGIN < row.created_at);
        if is_early || is_late {
            let text = format!("{} was not created between its request and the response", short(row.id));
            findings.push(Finding::new("G3", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::clock::SECOND;
    use crate::fault::gates::check::sample::{Sample, id};
    use crate::fault::gates::history::Retry;

    #[test]
    fn an_older_deployment_does_not_begin_after_a_newer_one_was_live() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.accepted(2, 0);
        assert_eq!(sample.found(check), ["G3"]);
        // One that has failed supersedes nothing.
        sample.gates.tenures[0].outcome = Some("failed".to_owned());
        assert!(sample.found(check).is_empty());
    }

    #[test]
    fn a_rollback_may_be_older() {
        let mut sample = Sample::good();
        sample.accepted(2, 0);
        let retry = Retry { deployment: id(2), user: id(102), allows_older: true };
        sample.history.retries.push(retry);
        assert!(sample.found(check).is_empty());
    }

    #[test]
    fn a_rollback_counts_as_accepted_when_it_was_requested() {
        let mut sample = Sample::good();
        // The first deployment was rolled back to before it worked, and the second one was accepted before that.
        sample.gates.accepted_at.insert(id(1), 9 * SECOND);
        sample.accepted(2, 8);
        assert_eq!(sample.found(check), ["G3"]);
    }

    #[test]
    fn a_deployment_is_created_between_request_and_response() {
        let mut sample = Sample::good();
        sample.history.starts.values_mut().for_each(|start| start.acknowledged_at = Some(0));
        assert_eq!(sample.found(check), ["G3", "G3"]);
    }
}
