//! D6: over is over. When an attempt has ended, however it ended, nothing of it acts any more: that is what lets its environment
//! pass on, and what lease, grace and the entrypoint's silence are for.

use std::collections::HashSet;

use crate::fault::clock::SECOND;
use crate::fault::deployments::check::{Evidence, MARGIN, name};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (mut findings, mut told) = (Vec::new(), HashSet::new());
    for word in evidence.words {
        let job = evidence.jobs.get(&word.job);
        let Some(job) = job.filter(|job| job.ended_at.is_some_and(|ended| ended + MARGIN < word.at)) else {
            continue;
        };
        if told.insert(&word.step) {
            let late = (word.at - job.ended_at.unwrap_or(word.at)) as f64 / SECOND as f64;
            let text = format!(
                "{} said {:?} {late:.3} s after its attempt was {} ({}), by {}",
                name(&word.step),
                word.saying,
                job.status,
                job.reason.as_deref().unwrap_or("no reason"),
                job.runner.as_deref().unwrap_or("nobody")
            );
            findings.push(Finding::new("D6", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{STEPS, Sample};
    use crate::fault::deployments::target::Saying;

    #[test]
    fn nothing_is_said_after_the_end() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.say((1, 1, STEPS[1]), Saying::Tick, 16);
        sample.say((1, 1, STEPS[1]), Saying::Tick, 17);
        assert_eq!(sample.found(check), ["D6"]);
    }
}
