//! D5: steps of two deployments are never at work in one environment at the same time. A step is at work from its first word to its
//! last: it lived at both moments, so an overlap that is found was one. What it did after its last word is not seen; while it
//! works it speaks every quarter of a second, and a word that the target refused is a word.

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
    for (step, words) in &evidence.words_of {
        let (first, last) = (words[0], words[words.len() - 1]);
        if let Some(environment) = first.environment.as_deref() {
            let span = Span { step, from: first.at, to: last.at };
            of_environment.entry(environment).or_default().push(span);
        }
    }
    of_environment.into_iter().flat_map(|(environment, spans)| overlaps(environment, spans)).collect()
}

/// One finding for each two deployments.
fn overlaps(environment: &str, mut spans: Vec<Span<'_>>) -> Vec<Finding> {
    spans.sort_by_key(|span| span.from);
    let (mut findings, mut told): (_, HashSet<(Uuid, Uuid)>) = (Vec::new(), HashSet::new());
    for (index, span) in spans.iter().enumerate() {
        let later = spans[index + 1..].iter().take_while(|other| other.from < span.to);
        for other in later.filter(|other| other.step.deployment != span.step.deployment) {
            if told.insert((span.step.deployment, other.step.deployment)) {
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
    use crate::fault::deployments::target::Saying;

    #[test]
    fn two_deployments_are_not_at_work_at_once() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.say((1, 1, STEPS[1]), Saying::Tick, 21);
        assert_eq!(sample.found(check), ["D5"]);
    }

    #[test]
    fn elsewhere_and_of_one_deployment_they_may_be() {
        let mut sample = Sample::good();
        sample.say((1, 1, STEPS[0]), Saying::Tick, 13);
        assert!(sample.found(check).is_empty());
        sample.say((1, 1, STEPS[1]), Saying::Tick, 21);
        let first = |word: &&mut crate::fault::deployments::target::Word| word.fence == Some(1);
        sample.words.iter_mut().filter(first).for_each(|word| word.environment = Some("qa-2".to_owned()));
        assert!(sample.found(check).is_empty());
    }
}
