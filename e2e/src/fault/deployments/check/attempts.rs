//! D9: the attempts of a stage are numbered without gaps, and nothing is retried without permission: only
//! what a person requested, what had not started any step, or what may be repeated by its definition.

use std::collections::HashSet;

use uuid::Uuid;

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::deployments::ledger::JobRow;
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut wrong = Vec::new();
    let requested = requested_by_people(evidence);
    let steps = evidence.ledger.steps.iter().filter(|step| step.started_at.is_some());
    let started_jobs: HashSet<Uuid> = steps.map(|step| step.job).collect();
    for stage in &evidence.ledger.stages {
        let mut attempts: Vec<&JobRow> = evidence.attempts(stage.deployment, &stage.key).collect();
        attempts.sort_unstable_by_key(|job| job.attempt);
        let name = format!("{}/{}", short(stage.deployment), stage.key);
        if !attempts.iter().map(|job| job.attempt).eq(1..=stage.attempt) {
            let numbers: Vec<i32> = attempts.iter().map(|job| job.attempt).collect();
            wrong.push(format!("{name} has the attempts {numbers:?}, and its newest is {}", stage.attempt));
        }
        // Each attempt but the last was retried.
        for job in attempts.iter().rev().skip(1) {
            let is_automatic =
                job.status == "errored" && (stage.allowed > 1 || !started_jobs.contains(&job.id));
            if !is_automatic && !requested.contains(&(job.deployment, job.stage.as_str(), job.attempt)) {
                wrong
                    .push(format!("{name} was {} and was retried after attempt {}", job.status, job.attempt));
            }
        }
    }
    wrong.into_iter().map(|text| Finding::new("D9", text)).collect()
}

/// Returns the attempts after which a person requested another.
fn requested_by_people<'a>(evidence: &Evidence<'a>) -> HashSet<(Uuid, &'a str, i32)> {
    let retried = |kind: &str| kind == "deployment.stage.retried";
    let by_people = evidence.ledger.events.iter().filter(|event| event.by_person && retried(&event.kind));
    by_people.filter_map(|event| Some((event.deployment?, event.stage.as_deref()?, event.attempt?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::Sample;

    /// A first attempt that did not succeed, and a second one.
    fn attempted_twice(status: &str) -> Sample {
        let mut sample = Sample::good();
        sample.ledger.jobs[0].status = status.to_owned();
        sample.attempt(1, 30, "succeeded");
        sample
    }

    #[test]
    fn attempts_have_no_gaps() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.ledger.stages[0].attempt = 2;
        assert_eq!(sample.found(check), ["D9"]);
        let mut sample = attempted_twice("errored");
        sample.ledger.jobs.remove(0);
        assert_eq!(sample.found(check), ["D9"]);
    }

    #[test]
    fn a_started_attempt_is_not_retried_automatically() {
        let mut sample = attempted_twice("errored");
        assert_eq!(sample.found(check), ["D9"]);
        sample.ledger.stages[0].allowed = 2;
        assert!(sample.found(check).is_empty());
        sample.ledger.jobs[0].status = "failed".to_owned();
        assert_eq!(sample.found(check), ["D9"]);
    }

    #[test]
    fn an_attempt_without_started_steps_is_retried() {
        let mut sample = attempted_twice("errored");
        sample.ledger.steps.iter_mut().take(2).for_each(|step| step.started_at = None);
        assert!(sample.found(check).is_empty());
    }

    #[test]
    fn a_requested_retry_is_carried_out() {
        let mut sample = attempted_twice("failed");
        assert_eq!(sample.found(check), ["D9"]);
        sample.event("deployment.stage.retried", 1, Some(1));
        assert_eq!(sample.found(check), ["D9"]);
        sample.ledger.events.iter_mut().for_each(|event| event.by_person = true);
        assert!(sample.found(check).is_empty());
    }
}
