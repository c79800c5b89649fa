//! G1: a deployment has an environment from its first step there to its last one. In between, no other deployment has
//! a step there, also if nothing of the first one runs at that moment. What it does after a user has retried one of
//! its stages is judged apart: it may have ended its work before.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::short;
use crate::fault::finding::Finding;
use crate::fault::gates::check::{Evidence, name};
use crate::fault::gates::history::Place;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    evidence.places().flat_map(|place| intruders(evidence, place)).collect()
}

/// Returns one finding for each pair of deployments.
fn intruders(evidence: &Evidence<'_>, place: Place) -> Vec<Finding> {
    // From the first to the last line between two retries.
    let mut spans: HashMap<(Uuid, usize), (Micros, Micros)> = HashMap::new();
    for line in evidence.lines_in(place) {
        let deployment = line.step.deployment;
        let retries = evidence.retries_before(deployment, line.at);
        spans.entry((deployment, retries)).or_insert((line.at, line.at)).1 = line.at;
    }
    let (mut findings, mut reported) = (Vec::new(), HashSet::new());
    for line in evidence.lines_in(place) {
        let other = line.step.deployment;
        for ((deployment, _), (from, to)) in &spans {
            let is_between = *from < line.at && line.at < *to;
            let pair = (other.min(*deployment), other.max(*deployment));
            if is_between && *deployment != other && reported.insert(pair) {
                let text = format!(
                    "{}: {}/{}/{} was at work {:.3} s after {} had begun there, which went on {:.3} s later",
                    name(place),
                    short(other),
                    line.step.stage,
                    line.step.step,
                    (line.at - from) as f64 / SECOND as f64,
                    short(*deployment),
                    (to - line.at) as f64 / SECOND as f64,
                );
                findings.push(Finding::new("G1", text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::gates::check::sample::{Sample, id};

    #[test]
    fn no_other_deployment_works_between_two_stages() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        // Between the stages of the first deployment, none of whose steps is at work.
        sample.step(2, "deploy", 14, 15);
        assert_eq!(sample.found(check), ["G1"]);
    }

    #[test]
    fn after_a_retry_its_work_is_judged_apart() {
        let mut sample = Sample::good();
        sample.step(1, "verify", 40, 41);
        assert_eq!(sample.found(check), ["G1"]);
        sample.gates.retried_at.insert(id(1), vec![39 * SECOND]);
        assert!(sample.found(check).is_empty());
    }
}
