//! L6: a session is taken over at most once, by exactly one session, and the event names both.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::finding::Finding;
use crate::fault::history::{Kind, Status};
use crate::fault::ledger::{EventRow, SessionRow};

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut displaced: HashMap<Uuid, u64> = HashMap::new();
    for op in evidence.ops.iter().filter(|op| op.kind == Kind::Force) {
        let Some(response) = op.ok() else { continue };
        let Some(by) = response.session else { continue };
        let Some(displaced_session) = response.displaced else { continue };
        let first = *displaced.entry(displaced_session).or_insert(op.request);
        if first != op.request {
            let text =
                format!("{} was displaced by op {first} and by op {}", short(displaced_session), op.number);
            findings.push(Finding::new("L6", text));
        }
        if evidence.sessions.get(&displaced_session).is_some_and(|row| row.override_session != Some(by.id)) {
            let text =
                format!("op {} displaced {}, whose row names another", op.number, short(displaced_session));
            findings.push(Finding::new("L6", text));
        }
    }
    let mut takers: HashMap<Uuid, Uuid> = HashMap::new();
    let events: HashMap<Uuid, &EventRow> = (evidence.ledger.events.iter())
        .filter(|event| event.kind == "session.overridden")
        .filter_map(|event| Some((event.session?, event)))
        .collect();
    for row in evidence.ledger.sessions.iter().filter(|row| row.status == Status::Overridden) {
        let wrong = wrong_override(evidence, row, events.get(&row.id).copied(), &mut takers);
        findings.extend(wrong.map(|text| {
            let text = format!("environment {}: {} was overridden, {text}", row.environment, short(row.id));
            Finding::new("L6", text)
        }));
    }
    findings
}

fn wrong_override(
    evidence: &Evidence<'_>,
    row: &SessionRow,
    event: Option<&EventRow>,
    takers: &mut HashMap<Uuid, Uuid>,
) -> Option<String> {
    let Some(taker) = row.override_session.and_then(|id| evidence.sessions.get(&id)) else {
        return Some("but by no session".to_owned());
    };
    if let Some(other) = takers.insert(taker.id, row.id) {
        return Some(format!("by {}, which overrode {} as well", short(taker.id), short(other)));
    }
    if taker.claimed_at != row.ended_at {
        return Some(format!("but {} was not granted in that moment", short(taker.id)));
    }
    if evidence.requests.get(&taker.request).is_some_and(|op| op.kind != Kind::Force) {
        return Some(format!("but {} did not request a force", short(taker.id)));
    }
    match event {
        None => Some("but there is no event".to_owned()),
        Some(event) if event.actor != Some(taker.user) => {
            Some("but the event names another taker".to_owned())
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    fn taken_over(sample: &mut Sample) {
        sample.session(id(1), 1, Some(1), (5, 20));
        sample.session(id(2), 2, Some(3), (20, 50));
        sample.overridden(id(1), id(2));
        sample.event(1, 21, "session.overridden", id(1), None);
        sample.granted_over(10, 30, (id(2), 3), id(1));
    }

    #[test]
    fn one_takes_over_from_one() {
        let mut sample = Sample::default();
        taken_over(&mut sample);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn two_do_not_take_over_from_one() {
        let mut sample = Sample::default();
        taken_over(&mut sample);
        sample.session(id(3), 3, Some(5), (20, 50));
        sample.granted_over(11, 31, (id(3), 5), id(1));
        assert_eq!(sample.found(check), ["L6", "L6"]);
    }

    #[test]
    fn the_event_is_there() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (5, 20));
        sample.session(id(2), 2, Some(3), (20, 50));
        sample.overridden(id(1), id(2));
        assert_eq!(sample.found(check), ["L6"]);
    }
}
