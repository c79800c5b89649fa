//! D4: once is once. A step of an attempt begins once and has its effect once, a request makes one deployment however often it is
//! sent, and of the attempts of a stage at most one succeeds.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::deployments::check::{Evidence, name, short};
use crate::fault::deployments::target::Saying;
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = steps(evidence);
    findings.extend(requests(evidence));
    findings.extend(attempts(evidence));
    findings
}

fn steps(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (step, words) in &evidence.words_of {
        for (saying, verb) in
            [(Saying::Begin, "began"), (Saying::Apply, "was applied"), (Saying::End, "ended")]
        {
            let count = words.iter().filter(|word| word.saying == saying).count();
            if count > 1 {
                findings.push(Finding::new("D4", format!("{} {verb} {count} times", name(step))));
            }
        }
        if words.iter().any(|word| word.job != words[0].job) {
            findings.push(Finding::new("D4", format!("{} was two jobs at once", name(step))));
        }
    }
    findings
}

fn requests(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut of_commit: HashMap<&str, Vec<Uuid>> = HashMap::new();
    for row in evidence.ledger.deployments.iter().filter(|row| row.purpose != "teardown") {
        of_commit.entry(&row.commit).or_default().push(row.id);
    }
    let mut findings = Vec::new();
    for request in evidence.requests {
        let made = of_commit.get(request.commit.as_str()).map_or(0, Vec::len);
        if made > 1 {
            let text =
                format!("one request ({:?}) made {made} deployments of {}", request.key, request.commit);
            findings.push(Finding::new("D4", text));
        }
        if let Some(other) = request.answers.iter().find(|answer| **answer != request.answers[0]) {
            let text = format!(
                "one request ({:?}) was answered {} and then {}",
                request.key,
                short(request.answers[0]),
                short(*other)
            );
            findings.push(Finding::new("D4", text));
        }
    }
    findings
}

fn attempts(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for stage in &evidence.ledger.stages {
        let attempts = evidence.attempts(stage.deployment, &stage.key);
        let succeeded = attempts.filter(|job| job.status == "succeeded").count();
        if succeeded > 1 {
            let text = format!("{succeeded} attempts of {}/{} succeeded", short(stage.deployment), stage.key);
            findings.push(Finding::new("D4", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{STEPS, Sample, id};

    #[test]
    fn a_step_is_applied_once() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.say((1, 1, STEPS[0]), Saying::Apply, 13);
        assert_eq!(sample.found(check), ["D4"]);
    }

    #[test]
    fn a_step_is_of_one_job() {
        let mut sample = Sample::good();
        sample.say((1, 1, STEPS[0]), Saying::Tick, 13);
        sample.words.iter_mut().filter(|word| word.saying == Saying::Tick).for_each(|word| word.job = id(7));
        assert_eq!(sample.found(check).len(), 4);
    }

    #[test]
    fn a_request_makes_one_deployment() {
        let mut sample = Sample::good();
        sample.ledger.deployments[1].commit = sample.ledger.deployments[0].commit.clone();
        assert_eq!(sample.found(check), ["D4"]);
        let mut sample = Sample::good();
        sample.requests[0].answers.push(id(2));
        assert_eq!(sample.found(check), ["D4"]);
    }

    #[test]
    fn one_attempt_succeeds() {
        let mut sample = Sample::good();
        sample.attempt(2, 26, "errored");
        assert!(sample.found(check).is_empty());
        sample.attempt(2, 36, "succeeded");
        assert_eq!(sample.found(check), ["D4"]);
    }
}
