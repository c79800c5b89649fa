//! D3: nothing acts for who has lost the environment. No step is started after its session has ended, both by the database's clock;
//! and the target accepts nothing with a lower fence than it has seen.

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
        // What cleans up after a session begins when that has ended.
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
    for word in evidence.words {
        let Some((environment, fence)) = word.environment.as_deref().zip(word.fence) else { continue };
        let seen = highest.entry(environment).or_insert(fence);
        if word.accepted && fence < *seen {
            let text = format!("{environment} took fence {fence} after {seen}, from {}", name(&word.step));
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
    use crate::fault::deployments::target::Saying;

    #[test]
    fn no_step_starts_after_its_session() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        // The first session ends between the two steps of its deployment.
        sample.ledger.sessions[0].ended_at = at(11);
        assert_eq!(sample.found(check), ["D3"]);
    }

    #[test]
    fn what_cleans_up_starts_after_its_session() {
        let mut sample = Sample::good();
        sample.ledger.sessions[0].ended_at = at(9);
        sample.ledger.deployments[0].purpose = "teardown".to_owned();
        assert!(sample.found(check).is_empty());
    }

    #[test]
    fn a_lower_fence_is_not_accepted_after_a_higher_one() {
        let mut sample = Sample::good();
        sample.say((1, 1, STEPS[1]), Saying::Tick, 21);
        assert_eq!(sample.found(check), ["D3"]);
        sample.words.iter_mut().filter(|word| word.fence == Some(1)).for_each(|word| word.accepted = false);
        assert!(sample.found(check).is_empty());
    }
}
