//! D9: the attempts of a stage are numbered without holes, and the stage knows the newest.

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for stage in &evidence.ledger.stages {
        let mut numbers: Vec<i32> =
            evidence.attempts(stage.deployment, &stage.key).map(|job| job.attempt).collect();
        numbers.sort_unstable();
        if !numbers.iter().copied().eq(1..=stage.attempt) {
            let text = format!(
                "{}/{} has the attempts {numbers:?}, and its newest is {}",
                short(stage.deployment),
                stage.key,
                stage.attempt
            );
            findings.push(Finding::new("D9", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::Sample;

    #[test]
    fn attempts_have_no_holes() {
        let mut sample = Sample::good();
        sample.attempt(1, 30, "failed");
        assert!(sample.found(check).is_empty());
        sample.ledger.jobs.remove(0);
        assert_eq!(sample.found(check), ["D9"]);
        let mut sample = Sample::good();
        sample.ledger.stages[0].attempt = 2;
        assert_eq!(sample.found(check), ["D9"]);
    }
}
