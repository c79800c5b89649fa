//! L4: every write to an environment carries its holder's fence. At the target fences never decrease, a
//! holder is never rejected in favor of an earlier one, and a deployment belongs to the hold of its session.

use std::collections::HashMap;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::Environment;

/// The harness and PostgreSQL use the same clock, but read it at different moments.
const MARGIN: Micros = SECOND / 20;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = at_the_target(evidence);
    findings.extend(deployments(evidence));
    findings
}

fn at_the_target(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut highest: HashMap<Environment, i64> = HashMap::new();
    let mut findings = Vec::new();
    for write in evidence.writes {
        let seen = highest.entry(write.environment).or_default();
        let row = evidence.sessions.get(&write.session);
        let holds = row.is_some_and(|row| row.ended_at.is_none_or(|ended| write.at + MARGIN < ended));
        if write.accepted && write.fence < *seen {
            let text = format!("environment {}: fence {} wrote after {seen}", write.environment, write.fence);
            findings.push(Finding::new("L4", text));
        }
        if !write.accepted && holds {
            let text = format!(
                "environment {}: {} was refused with fence {} while it held; another write had a higher one",
                write.environment,
                short(write.session),
                write.fence
            );
            findings.push(Finding::new("L4", text));
        }
        if write.accepted {
            *seen = write.fence.max(*seen);
        }
    }
    findings.dedup();
    findings
}

fn deployments(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut next: HashMap<uuid::Uuid, Micros> = HashMap::new();
    for grants in evidence.grants().values() {
        for pair in grants.windows(2) {
            pair[1].claimed_at.inspect(|at| {
                next.insert(pair[0].id, *at);
            });
        }
    }
    let mut findings = Vec::new();
    for deployment in &evidence.ledger.deployments {
        let Some(row) = evidence.sessions.get(&deployment.session) else { continue };
        let text = if row.fence != Some(deployment.fence) {
            format!("has fence {}, its session {:?}", deployment.fence, row.fence)
        } else if row.claimed_at.is_none_or(|claimed_at| deployment.created_at < claimed_at) {
            "was accepted before its session held".to_owned()
        } else if next.get(&row.id).is_some_and(|next| deployment.created_at > *next) {
            "was accepted when another session held".to_owned()
        } else {
            continue;
        };
        findings.push(Finding::new("L4", format!("deployment {} {text}", short(deployment.id))));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    fn good() -> Sample {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (5, 100));
        sample.session(id(2), 2, Some(3), (100, SECOND));
        sample.deployment(id(1), 1, 50);
        sample.write((id(1), 1), 50, true);
        sample.write((id(2), 3), 110, true);
        sample.write((id(1), 1), 120, false);
        sample
    }

    #[test]
    fn a_late_writer_is_refused() {
        assert_eq!(good().found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_lower_fence_is_never_accepted_later() {
        let mut sample = good();
        sample.write((id(1), 1), 130, true);
        assert_eq!(sample.found(check), ["L4"]);
    }

    #[test]
    fn a_holder_is_never_refused() {
        let mut sample = good();
        sample.write((id(2), 3), 130, false);
        assert_eq!(sample.found(check), ["L4"]);
    }

    #[test]
    fn a_deployment_has_its_sessions_fence_and_time() {
        let mut sample = good();
        sample.deployment(id(1), 3, 60);
        sample.deployment(id(1), 1, 4);
        sample.deployment(id(1), 1, 101);
        assert_eq!(sample.found(check), ["L4", "L4", "L4"]);
    }
}
