//! D4: no duplicates. A step of an attempt begins once and has its effect once, a request creates one
//! deployment however often it is sent, and of the attempts of a stage at most one succeeds.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::deployments::check::{Evidence, name, short};
use crate::fault::deployments::target::ReportKind;
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = steps(evidence);
    findings.extend(requests(evidence));
    findings.extend(attempts(evidence));
    findings
}

fn steps(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (step, reports) in &evidence.reports_by_step {
        for (kind, verb) in
            [(ReportKind::Begin, "began"), (ReportKind::Apply, "was applied"), (ReportKind::End, "ended")]
        {
            let count = reports.iter().filter(|report| report.kind == kind).count();
            if count > 1 {
                findings.push(Finding::new("D4", format!("{} {verb} {count} times", name(step))));
            }
        }
        if reports.iter().any(|report| report.job != reports[0].job) {
            findings.push(Finding::new("D4", format!("{} belonged to two jobs", name(step))));
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
                format!("one request ({:?}) created {made} deployments of {}", request.key, request.commit);
            findings.push(Finding::new("D4", text));
        }
        if let Some(other) = request.responses.iter().find(|response| **response != request.responses[0]) {
            let text = format!(
                "one request ({:?}) returned {} and then {}",
                request.key,
                short(request.responses[0]),
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
        sample.report((1, 1, STEPS[0]), ReportKind::Apply, 13);
        assert_eq!(sample.found(check), ["D4"]);
    }

    #[test]
    fn a_step_is_of_one_job() {
        let mut sample = Sample::good();
        sample.report((1, 1, STEPS[0]), ReportKind::Tick, 13);
        sample
            .reports
            .iter_mut()
            .filter(|report| report.kind == ReportKind::Tick)
            .for_each(|report| report.job = id(7));
        assert_eq!(sample.found(check).len(), 4);
    }

    #[test]
    fn a_request_makes_one_deployment() {
        let mut sample = Sample::good();
        sample.ledger.deployments[1].commit = sample.ledger.deployments[0].commit.clone();
        assert_eq!(sample.found(check), ["D4"]);
        let mut sample = Sample::good();
        sample.requests[0].responses.push(id(2));
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
