//! D8: each end is told exactly once. A deployment is accepted once and ends once, and again only after a stage of it was tried again;
//! an attempt ends once; the last end that was told is the deployment's status; and events are numbered without holes.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::deployments::ledger::EventRow;
use crate::fault::finding::Finding;

const DEPLOYMENT: &str = "deployment.";
const STAGE: &str = "deployment.stage.";
const ENDS: [&str; 5] = ["succeeded", "failed", "errored", "canceled", "superseded"];

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut of: HashMap<Uuid, Vec<&EventRow>> = HashMap::new();
    for event in &evidence.ledger.events {
        if let Some(deployment) = event.deployment {
            of.entry(deployment).or_default().push(event);
        }
    }
    let mut findings = numbers(evidence);
    for row in &evidence.ledger.deployments {
        let events = of.get(&row.id).map_or(&[][..], Vec::as_slice);
        let told = told(events, row.ended_at.map(|_| row.status.as_str()));
        findings.extend(told.into_iter().map(|text| Finding::new("D8", format!("{} {text}", short(row.id)))));
    }
    findings
}

fn numbers(evidence: &Evidence<'_>) -> Vec<Finding> {
    let events = &evidence.ledger.events;
    let hole = events.iter().zip(1..).find(|(event, number)| event.sequence != *number);
    hole.map(|(event, number)| {
        Finding::new("D8", format!("event {} stands at place {number}", event.sequence))
    })
    .into_iter()
    .collect()
}

/// What is wrong with what was told of a deployment. `end` is how it ended.
fn told(events: &[&EventRow], end: Option<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let queued = events.iter().filter(|event| event.kind == "deployment.queued").count();
    if queued != 1 {
        wrong.push(format!("was accepted by {queued} events"));
    }
    let (mut ended, mut last) = (false, None);
    let mut attempts: HashMap<(&str, i32), u32> = HashMap::new();
    for event in events {
        if event.kind == "deployment.stage.retried" {
            ended = false;
        } else if let Some((stage, attempt)) = event.stage.as_deref().zip(event.attempt) {
            // What was skipped or canceled before its first attempt has the number 0, and may be so again.
            if attempt > 0 && event.kind.strip_prefix(STAGE).is_some_and(|word| ENDS.contains(&word)) {
                *attempts.entry((stage, attempt)).or_default() += 1;
            }
        } else if let Some(word) = event.kind.strip_prefix(DEPLOYMENT).filter(|word| ENDS.contains(word)) {
            if ended {
                wrong.push(format!("ended twice: {} after {}", word, last.unwrap_or_default()));
            }
            (ended, last) = (true, Some(word));
        }
    }
    if last != end && end.is_some() {
        wrong.push(format!("is {}, and {} was told", end.unwrap_or_default(), last.unwrap_or("nothing")));
    }
    let twice = attempts.into_iter().filter(|(_, count)| *count > 1);
    wrong.extend(twice.map(|((stage, attempt), count)| format!("{stage}/{attempt} ended {count} times")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::Sample;

    #[test]
    fn an_end_is_told_once() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.event("deployment.succeeded", 1, None);
        assert_eq!(sample.found(check), ["D8"]);
    }

    #[test]
    fn after_a_retry_it_ends_again() {
        let mut sample = Sample::good();
        sample.event("deployment.stage.retried", 1, Some(1));
        sample.event("deployment.stage.succeeded", 1, Some(2));
        sample.event("deployment.succeeded", 1, None);
        assert!(sample.found(check).is_empty());
        sample.event("deployment.stage.succeeded", 1, Some(2));
        assert_eq!(sample.found(check), ["D8"]);
    }

    #[test]
    fn an_end_that_nobody_told_is_found() {
        let mut sample = Sample::good();
        sample.ledger.deployments[0].status = "failed".to_owned();
        assert_eq!(sample.found(check), ["D8"]);
    }

    #[test]
    fn acceptance_is_told_once_and_numbers_have_no_holes() {
        let mut sample = Sample::good();
        sample.ledger.events.remove(0);
        assert_eq!(sample.found(check), ["D8", "D8"]);
    }
}
