//! L12: every grant, wait and end of a session is recorded as exactly one event, no event is recorded for
//! something that did not happen, and the sequence has no gaps.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::finding::Finding;
use crate::fault::history::Status;
use crate::fault::ledger::SessionRow;

/// The events recorded for a session.
#[derive(Default)]
struct RecordedEvents<'a> {
    queued: usize,
    claimed: usize,
    granted: usize,
    fence: Option<i64>,
    ends: Vec<&'a str>,
}

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = sequence_gaps(evidence);
    let mut recorded: HashMap<Uuid, RecordedEvents<'_>> = HashMap::new();
    let mut deployed: HashMap<Uuid, usize> = HashMap::new();
    for event in &evidence.ledger.events {
        if let Some(deployment) = event.deployment.filter(|_| event.kind == "deployment.queued") {
            *deployed.entry(deployment).or_default() += 1;
        }
        let (Some(session), Some(verb)) = (event.session, event.kind.strip_prefix("session.")) else {
            continue;
        };
        let own = recorded.entry(session).or_default();
        match verb {
            "queued" => own.queued += 1,
            "claimed" => own.claimed += 1,
            "granted" => own.granted += 1,
            recorded if recorded.starts_with("handover_") => {}
            end => own.ends.push(end),
        }
        own.fence = own.fence.or(event.fence);
    }
    for row in &evidence.ledger.sessions {
        if let Some(text) = disagreement(row, &recorded.remove(&row.id).unwrap_or_default()) {
            let text = format!("environment {}: {} {text}", row.environment, short(row.id));
            findings.push(Finding::new("L12", text));
        }
    }
    let without = recorded
        .into_keys()
        .map(|session| format!("there are events of {}, which does not exist", short(session)));
    findings.extend(without.map(|text| Finding::new("L12", text)));
    for row in &evidence.ledger.deployments {
        let times = deployed.remove(&row.id).unwrap_or(0);
        if times != 1 {
            let text = format!("deployment {} was recorded {times} times", short(row.id));
            findings.push(Finding::new("L12", text));
        }
    }
    findings
}

fn disagreement(row: &SessionRow, recorded: &RecordedEvents<'_>) -> Option<String> {
    let waited = usize::from(row.queued_at.is_some());
    let held = usize::from(row.fence.is_some());
    if recorded.queued != waited {
        return Some(format!("waited {waited} times, recorded {} times", recorded.queued));
    }
    if (recorded.claimed, recorded.granted) != (held * (1 - waited), held * waited) {
        return Some(format!(
            "held {held} times after waiting {waited} times, recorded as claimed {} and granted {} times",
            recorded.claimed, recorded.granted
        ));
    }
    if recorded.fence != row.fence {
        return Some(format!("has fence {:?}, recorded as {:?}", row.fence, recorded.fence));
    }
    let expected: &[&str] = match row.status {
        Status::Queued | Status::Active => &[],
        Status::Released => &["released"],
        Status::Expired => &["expired"],
        Status::Overridden => &["overridden"],
        Status::Canceled => &["canceled"],
    };
    (recorded.ends != expected).then(|| format!("is {:?}, recorded as {:?}", row.status, recorded.ends))
}

fn sequence_gaps(evidence: &Evidence<'_>) -> Vec<Finding> {
    let ledger = evidence.ledger;
    let mut findings = Vec::new();
    if ledger.unsequenced > 0 {
        let text = format!("{} events have no number although the system is quiet", ledger.unsequenced);
        findings.push(Finding::new("L12", text));
    }
    let mut last = ledger.since.sequences.clone();
    for event in &ledger.events {
        let before = &mut last[event.organization];
        if event.sequence != *before + 1 {
            let text =
                format!("organization {}: event {} follows {before}", event.organization, event.sequence);
            findings.push(Finding::new("L12", text));
        }
        *before = event.sequence;
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    fn good() -> Sample {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (5, 20));
        sample.event(1, 5, "session.claimed", id(1), Some(1));
        sample.event(2, 20, "session.expired", id(1), None);
        sample
    }

    #[test]
    fn a_session_and_its_events_agree() {
        assert_eq!(good().found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_missing_event_is_noticed() {
        let mut sample = good();
        sample.session(id(2), 2, Some(3), (20, 30));
        assert_eq!(sample.found(check), ["L12"]);
        sample.event(3, 20, "session.claimed", id(2), Some(3));
        assert_eq!(sample.found(check), ["L12"]);
        sample.event(4, 30, "session.expired", id(2), None);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn an_event_too_many_is_noticed() {
        let mut sample = good();
        sample.event(3, 20, "session.expired", id(1), None);
        assert_eq!(sample.found(check), ["L12"]);
        let mut sample = good();
        sample.event(3, 20, "session.claimed", id(2), Some(3));
        assert_eq!(sample.found(check), ["L12"]);
    }

    #[test]
    fn a_gap_is_noticed() {
        let mut sample = good();
        sample.event(4, 20, "pipeline.updated", id(9), None);
        assert_eq!(sample.found(check), ["L12"]);
    }

    #[test]
    fn a_deployment_is_recorded_once() {
        let mut sample = good();
        sample.deployment(id(1), 1, 6);
        assert_eq!(sample.found(check), ["L12"]);
    }
}
