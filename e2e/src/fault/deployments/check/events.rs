//! D8: each end is recorded exactly once. A deployment is accepted once and ends once, and again only after
//! one of its stages was retried; an attempt ends once; the last recorded end is the deployment's status; and
//! events are numbered without gaps.

use std::collections::HashMap;

use greenroom_domain::deployment::{DeploymentStatus, JobStatus};
use uuid::Uuid;

use crate::fault::deployments::check::{Evidence, short};
use crate::fault::deployments::ledger::EventRow;
use crate::fault::finding::Finding;

const DEPLOYMENT: &str = "deployment.";
const STAGE: &str = "deployment.stage.";

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut of: HashMap<Uuid, Vec<&EventRow>> = HashMap::new();
    for event in &evidence.ledger.events {
        if let Some(deployment) = event.deployment {
            of.entry(deployment).or_default().push(event);
        }
    }
    let mut findings = sequence_gap(evidence);
    for row in &evidence.ledger.deployments {
        let events = of.get(&row.id).map_or(&[][..], Vec::as_slice);
        let errors = event_errors(events, row.ended_at.map(|_| row.status.as_str()));
        findings
            .extend(errors.into_iter().map(|text| Finding::new("D8", format!("{} {text}", short(row.id)))));
    }
    findings
}

fn sequence_gap(evidence: &Evidence<'_>) -> Vec<Finding> {
    let events = &evidence.ledger.events;
    let gap = events.iter().zip(1..).find(|(event, number)| event.sequence != *number);
    gap.map(|(event, number)| Finding::new("D8", format!("event {} is at position {number}", event.sequence)))
        .into_iter()
        .collect()
}

/// Returns what is wrong with the events of a deployment. `end` is its final status.
fn event_errors(events: &[&EventRow], end: Option<&str>) -> Vec<String> {
    let mut errors = Vec::new();
    let queued = events.iter().filter(|event| event.kind == "deployment.queued").count();
    if queued != 1 {
        errors.push(format!("was accepted by {queued} events"));
    }
    let (mut ended, mut last) = (false, None);
    let mut attempts: HashMap<(&str, i32), u32> = HashMap::new();
    for event in events {
        if event.kind == "deployment.stage.retried" {
            ended = false;
        } else if let Some((stage, attempt)) = event.stage.as_deref().zip(event.attempt) {
            // A stage that was skipped or canceled before its first attempt has the number 0, and this may
            // happen again.
            if attempt > 0 && event.kind.strip_prefix(STAGE).is_some_and(ends_attempt) {
                *attempts.entry((stage, attempt)).or_default() += 1;
            }
        } else if let Some(verb) = event.kind.strip_prefix(DEPLOYMENT).filter(|verb| ends(verb)) {
            if ended {
                errors.push(format!("ended twice: {} after {}", verb, last.unwrap_or_default()));
            }
            (ended, last) = (true, Some(verb));
        }
    }
    if last != end && end.is_some() {
        errors.push(format!(
            "is {}, but {} was recorded",
            end.unwrap_or_default(),
            last.unwrap_or("nothing")
        ));
    }
    let twice = attempts.into_iter().filter(|(_, count)| *count > 1);
    errors.extend(twice.map(|((stage, attempt), count)| format!("{stage}/{attempt} ended {count} times")));
    errors
}

/// Returns whether a deployment with an event of this verb has ended.
fn ends(verb: &str) -> bool {
    verb.parse().is_ok_and(DeploymentStatus::is_final)
}

fn ends_attempt(verb: &str) -> bool {
    verb.parse().is_ok_and(JobStatus::is_final)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::Sample;

    #[test]
    fn an_end_is_recorded_once() {
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
    fn an_end_without_event_is_found() {
        let mut sample = Sample::good();
        sample.ledger.deployments[0].status = "failed".to_owned();
        assert_eq!(sample.found(check), ["D8"]);
    }

    #[test]
    fn acceptance_is_recorded_once_and_numbers_have_no_gaps() {
        let mut sample = Sample::good();
        sample.ledger.events.remove(0);
        assert_eq!(sample.found(check), ["D8", "D8"]);
    }
}
