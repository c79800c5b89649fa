//! L5: a session that has ended is never granted, and an end reported by a response matches the database.

use std::collections::HashSet;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::finding::Finding;
use crate::fault::history::Status;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = granted_after_the_end(evidence);
    for op in evidence.ops.iter().filter(|op| !op.is_repetition()) {
        let Some(view) = op.ok().and_then(|response| response.session) else { continue };
        let Some(row) = evidence.sessions.get(&view.id).filter(|row| row.status != view.status) else {
            continue;
        };
        if view.status.has_ended() {
            let left_the_queue = view.status == Status::Canceled && view.fence.is_none();
            let text = format!(
                "environment {}: op {} showed {} {:?}, but it became {:?} with fence {:?}",
                row.environment,
                op.number,
                short(row.id),
                view.status,
                row.status,
                row.fence
            );
            findings.push(Finding::new(if left_the_queue { "L5" } else { "L3" }, text));
        }
    }
    findings
}

fn granted_after_the_end(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut ended: HashSet<Uuid> = HashSet::new();
    let mut findings = Vec::new();
    for event in &evidence.ledger.events {
        let Some(session) = event.session.filter(|_| event.kind.starts_with("session.")) else { continue };
        match event.kind.as_str() {
            "session.queued" => {}
            kind if kind.starts_with("session.handover_") => {}
            "session.claimed" | "session.granted" if ended.contains(&session) => {
                let text = format!("event {}: {} was granted after its end", event.sequence, short(session));
                findings.push(Finding::new("L5", text));
            }
            "session.claimed" | "session.granted" => {}
            _ => {
                ended.insert(session);
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};
    use crate::fault::history::Kind;

    #[test]
    fn a_session_that_left_the_queue_is_not_granted() {
        let mut sample = Sample::default();
        sample.shown(Kind::Release, 0, 10, id(1), Status::Canceled, None);
        sample.waited(id(1), 1, 0, 5);
        sample.event(1, 0, "session.queued", id(1), None);
        sample.event(2, 5, "session.canceled", id(1), None);
        assert_eq!(sample.found(check), Vec::<&str>::new());
        sample.event(3, 6, "session.granted", id(1), Some(3));
        assert_eq!(sample.found(check), ["L5"]);
    }

    #[test]
    fn an_ended_session_stays_ended() {
        let mut sample = Sample::default();
        sample.shown(Kind::Release, 0, 10, id(1), Status::Canceled, None);
        sample.session(id(1), 1, Some(3), (20, 30));
        assert_eq!(sample.found(check), ["L5"]);
        let mut sample = Sample::default();
        sample.shown(Kind::GetSession, 0, 10, id(1), Status::Released, Some(3));
        sample.session(id(1), 1, Some(3), (20, 30));
        assert_eq!(sample.found(check), ["L3"]);
    }
}
