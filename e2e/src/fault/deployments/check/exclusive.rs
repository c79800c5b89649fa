//! D5: steps of two deployments never work in one environment at the same time. A step is at work from its
//! first report to its last. It was alive at both moments, so an overlap that is found is a real one. What it
//! did after its last report is not visible; while it works it reports every quarter of a second, and a
//! report that the target rejected counts as well.

use std::collections::{BTreeMap, HashSet};

use uuid::Uuid;

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::{Evidence, name};
use crate::fault::deployments::target::StepKey;
use crate::fault::finding::Finding;

struct Span<'a> {
    step: &'a StepKey,
    from: Micros,
    to: Micros,
}

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut of_environment: BTreeMap<&str, Vec<Span<'_>>> = BTreeMap::new();
    for (step, reports) in &evidence.reports_by_step {
        let (first, last) = (reports[0], reports[reports.len() - 1]);
        if let Some(environment) = first.environment.as_deref() {
            let span = Span { step, from: first.at, to: last.at };
            of_environment.entry(environment).or_default().push(span);
        }
    }
    of_environment.into_iter().flat_map(|(environment, spans)| overlaps(environment, spans)).collect()
}

/// Returns one finding for each pair of deployments.
fn overlaps(environment: &str, mut spans: Vec<Span<'_>>) -> Vec<Finding> {
    spans.sort_by_key(|span| span.from);
    let (mut findings, mut reported): (_, HashSet<(Uuid, Uuid)>) = (Vec::new(), HashSet::new());
    for (index, span) in spans.iter().enumerate() {
        let later = spans[index + 1..].iter().take_while(|other| other.from < span.to);
        for other in later.filter(|other| other.step.deployment != span.step.deployment) {
            if reported.insert((span.step.deployment, other.step.deployment)) {
                let seconds = (span.to.min(other.to) - other.from) as f64 / SECOND as f64;
                let (one, two) = (name(span.step), name(other.step));
                let text =
                    format!("{environment}: {one} was still at work when {two} began, for {seconds:.3} s");
                findings.push(Finding::new("D5", text));
            }
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
    fn two_deployments_do_not_work_concurrently() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.report((1, 1, STEPS[1]), ReportKind::Tick, 21);
        assert_eq!(sample.found(check), ["D5"]);
    }

    #[test]
    fn other_environments_and_steps_of_one_deployment_may_overlap() {
        let mut sample = Sample::good();
        sample.report((1, 1, STEPS[0]), ReportKind::Tick, 13);
        assert!(sample.found(check).is_empty());
        sample.report((1, 1, STEPS[1]), ReportKind::Tick, 21);
        let first = |report: &&mut crate::fault::deployments::target::TargetReport| report.fence == Some(1);
        sample
            .reports
            .iter_mut()
            .filter(first)
            .for_each(|report| report.environment = Some("qa-2".to_owned()));
        assert!(sample.found(check).is_empty());
    }
}
