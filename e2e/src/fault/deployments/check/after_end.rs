//! D6: nothing runs after the end. Once an attempt has ended, in whatever way, none of its steps acts any
//! more. This makes it safe to pass the environment on; lease, grace and the entrypoint's own timeout exist
//! for this.

use std::collections::HashSet;

use crate::fault::clock::SECOND;
use crate::fault::deployments::check::{CLOCK_MARGIN, Evidence, name};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (mut findings, mut reported) = (Vec::new(), HashSet::new());
    for report in evidence.reports {
        let job = evidence.jobs.get(&report.job);
        let Some(job) = job.filter(|job| job.ended_at.is_some_and(|ended| ended + CLOCK_MARGIN < report.at))
        else {
            continue;
        };
        if reported.insert(&report.step) {
            let late = (report.at - job.ended_at.unwrap_or(report.at)) as f64 / SECOND as f64;
            let text = format!(
                "{} reported {:?} {late:.3} s after its attempt was {} ({}), by {}",
                name(&report.step),
                report.kind,
                job.status,
                job.reason.as_deref().unwrap_or("no reason"),
                job.runner.as_deref().unwrap_or("no runner")
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
    use crate::fault::deployments::target::ReportKind;

    #[test]
    fn nothing_is_reported_after_the_end() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.report((1, 1, STEPS[1]), ReportKind::Tick, 16);
        sample.report((1, 1, STEPS[1]), ReportKind::Tick, 17);
        assert_eq!(sample.found(check), ["D6"]);
    }
}
