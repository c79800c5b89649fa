//! Replays an environment's events through a model: at most one holder, grants only to the first in the
//! queue, each session ended once. An impossible order of events violates L3, L5, L6 or L11.

use std::collections::{HashMap, VecDeque};

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::finding::Finding;
use crate::fault::history::{Environment, Kind};
use crate::fault::ledger::EventRow;

#[derive(Default)]
struct LockModel {
    holder: Option<Uuid>,
    queue: VecDeque<Uuid>,
}

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut models: HashMap<Environment, LockModel> = HashMap::new();
    let mut findings = Vec::new();
    for event in &evidence.ledger.events {
        let Some((environment, session)) = event.environment.zip(event.session) else { continue };
        let model = models.entry(environment).or_default();
        let row = evidence.sessions.get(&session);
        let request = row.and_then(|row| evidence.requests.get(&row.request));
        let by_force = request.is_none_or(|op| op.kind == Kind::Force);
        if let Err((property, text)) = model.apply(event, session, by_force) {
            let text = format!("environment {environment}, event {}: {text}", event.sequence);
            findings.push(Finding::new(property, text));
        }
    }
    findings
}

impl LockModel {
    /// Applies the event even if it is impossible, so that one wrong event is one finding.
    fn apply(
        &mut self,
        event: &EventRow,
        session: Uuid,
        by_force: bool,
    ) -> Result<(), (&'static str, String)> {
        let name = short(session);
        match event.kind.as_str() {
            "session.queued" => self.queue.push_back(session),
            "session.claimed" => {
                let before = self.holder.replace(session);
                if let Some(before) = before {
                    return Err(("L3", format!("{name} claimed what {} held", short(before))));
                }
                if let Some(first) = self.queue.front().filter(|_| !by_force) {
                    return Err(("L11", format!("{name} claimed while {} waited", short(*first))));
                }
            }
            "session.granted" => {
                let (before, place) =
                    (self.holder.replace(session), self.queue.iter().position(|waiting| *waiting == session));
                self.queue.retain(|waiting| *waiting != session);
                if let Some(before) = before {
                    return Err(("L3", format!("{name} was granted what {} held", short(before))));
                }
                match place {
                    Some(0) => {}
                    Some(place) => {
                        return Err(("L11", format!("{name} was granted from place {}", place + 1)));
                    }
                    None => return Err(("L5", format!("{name} was granted without waiting"))),
                }
            }
            "session.canceled" if self.queue.contains(&session) => {
                self.queue.retain(|waiting| *waiting != session);
            }
            "session.released" | "session.expired" | "session.canceled" | "session.overridden" => {
                if self.holder != Some(session) {
                    let property = if event.kind == "session.overridden" { "L6" } else { "L3" };
                    return Err((property, format!("{name} ended ({}) and did not hold", event.kind)));
                }
                self.holder = None;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    fn replayed(events: &[(&str, u128)]) -> Sample {
        let mut sample = Sample::default();
        for (number, (kind, session)) in events.iter().enumerate() {
            sample.event(number as i64 + 1, 0, kind, id(*session), None);
        }
        sample
    }

    #[test]
    fn a_possible_order() {
        let events = [
            ("session.claimed", 1),
            ("session.queued", 2),
            ("session.queued", 3),
            ("session.released", 1),
            ("session.granted", 2),
            ("session.canceled", 2),
            ("session.granted", 3),
            ("session.overridden", 3),
            ("session.claimed", 4),
            ("session.expired", 4),
        ];
        assert_eq!(replayed(&events).found(check), Vec::<&str>::new());
    }

    #[test]
    fn two_holders() {
        let found = replayed(&[("session.claimed", 1), ("session.claimed", 2)]).found(check);
        assert_eq!(found, ["L3"]);
    }

    #[test]
    fn granted_after_leaving() {
        let events = [("session.queued", 1), ("session.canceled", 1), ("session.granted", 1)];
        assert_eq!(replayed(&events).found(check), ["L5"]);
    }

    #[test]
    fn taken_over_twice() {
        let events = [("session.claimed", 1), ("session.overridden", 1), ("session.overridden", 1)];
        assert_eq!(replayed(&events).found(check), ["L6"]);
    }

    #[test]
    fn out_of_turn() {
        let events = [("session.queued", 1), ("session.queued", 2), ("session.granted", 2)];
        assert_eq!(replayed(&events).found(check), ["L11"]);
        let mut sample = replayed(&[("session.queued", 1), ("session.claimed", 2)]);
        let request = sample.unknown(Kind::Claim, 0, 1);
        sample.session(id(2), 1, Some(1), (0, 1));
        sample.requested(id(2), request);
        assert_eq!(sample.found(check), ["L11"]);
    }
}
