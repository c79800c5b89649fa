//! D3: nothing acts for a session that has lost the environment. No step is started after its session has
//! ended, both by the database's clock; and the target accepts nothing with a lower fence than it has seen.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::clock::SECOND;
use crate::fault::deployments::check::{Evidence, name, short};
use crate::fault::deployments::ledger::SessionRow;
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = started_too_late(evidence);
    findings.extend(accepted_too_late(evidence));
    findings
}

fn started_too_late(evidence: &Evidence<'_>) -> Vec<Finding> {
    let sessions: HashMap<Uuid, &SessionRow> =
        evidence.ledger.sessions.iter().map(|session| (session.id, session)).collect();
    let mut findings = Vec::new();
    for step in &evidence.ledger.steps {
        let job = evidence.jobs.get(&step.job);
        // A cleanup deployment starts after its session has ended.
        let deployment = job.and_then(|job| evidence.deployments.get(&job.deployment));
        let deployment = deployment.filter(|deployment| deployment.purpose != "teardown");
        let session = deployment.and_then(|row| row.session).and_then(|id| sessions.get(&id));
        let Some(((session, job), started)) = session.zip(job).zip(step.started_at) else { continue };
        if let Some(ended) = session.ended_at.filter(|ended| *ended < started) {
            let text = format!(
                "{}/{}/{}/{} was started {:.3} s after its session {} was {}",
                short(job.deployment),
                job.stage,
                job.attempt,
                step.name,
                (started - ended) as f64 / SECOND as f64,
                short(session.id),
                session.status
            );
            findings.push(Finding::new("D3", text));
        }
    }
    findings
}

fn accepted_too_late(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut highest: HashMap<&str, i64> = HashMap::new();
    let mut findings = Vec::new();
    for report in evidence.reports {
        let Some((environment, fence)) = report.environment.as_deref().zip(report.fence) else { continue };
        let seen = highest.entry(environment).or_insert(fence);
        if report.accepted && fence < *seen {
            let text =
                format!("{environment} accepted fence {fence} after {seen}, from {}", name(&report.step));
            findings.push(Finding::new("D3", text));
        }
        *seen = fence.max(*seen);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{STEPS, Sample, at};
    use crate::fault::deployments::target::ReportKind;

    #[test]
    fn no_step_starts_after_its_session() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        // The first session ends between the two steps of its deployment.
        sample.ledger.sessions[0].ended_at = at(11);
        assert_eq!(sample.found(check), ["D3"]);
    }

    #[test]
    fn a_teardown_starts_after_its_session() {
        let mut sample = Sample::good();
        sample.ledger.sessions[0].ended_at = at(9);
        sample.ledger.deployments[0].purpose = "teardown".to_owned();
        assert!(sample.found(check).is_empty());
    }

    #[test]
    fn a_lower_fence_is_not_accepted_after_a_higher_one() {
        let mut sample = Sample::good();
        sample.report((1, 1, STEPS[1]), ReportKind::Tick, 21);
        assert_eq!(sample.found(check), ["D3"]);
        sample
            .reports
            .iter_mut()
            .filter(|report| report.fence == Some(1))
            .for_each(|report| report.accepted = false);
        assert!(sample.found(check).is_empty());
    }
}
