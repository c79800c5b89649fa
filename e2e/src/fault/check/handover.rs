//! L14: silence is consent only towards who could have taken the environment by force. A request by anybody else lapses and ends nothing,
//! and what lapsed was such a request.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Kind, Status};

/// Within this time a worker ends what was granted while the right was being taken away.
const FOLLOWED_UP: Micros = 30 * SECOND;

/// Who has asked for a session.
#[derive(Default)]
struct Asked {
    by_who_may_force: bool,
    by_others: bool,
}

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut asked: HashMap<Uuid, Asked> = HashMap::new();
    let requests =
        evidence.ops.iter().filter(|op| op.kind == Kind::RequestHandover && op.may_have_happened());
    for op in requests {
        let Some(session) = op.session else { continue };
        let asked = asked.entry(session).or_default();
        match evidence.people.forcers.contains(&op.user) {
            true => asked.by_who_may_force = true,
            false => asked.by_others = true,
        }
    }
    let mut findings = Vec::new();
    // Members who keep their rights are released by the clock in one way only: by a hand-over that nobody answered.
    let by_silence = |status, ended_by: Option<Uuid>| status == Status::Released && ended_by.is_none();
    for row in evidence.ledger.sessions.iter().filter(|row| by_silence(row.status, row.ended_by)) {
        // What was granted while its user lost the right to hold is ended by the clock as well.
        let ended = row.ended_at.unwrap_or_default();
        if evidence.people.may_have_been_barred(row.user, ended - FOLLOWED_UP, ended) {
            continue;
        }
        if !asked.get(&row.id).is_some_and(|asked| asked.by_who_may_force) {
            let text = format!(
                "environment {}: {} was handed over by silence, and nobody had asked who could have forced",
                row.environment,
                short(row.id)
            );
            findings.push(Finding::new("L14", text));
        }
    }
    for event in evidence.ledger.events.iter().filter(|event| event.kind == "session.handover_lapsed") {
        let Some(session) = event.session else { continue };
        if !asked.get(&session).is_some_and(|asked| asked.by_others) {
            let text = format!(
                "event {}: a request for {} lapsed that was never made, or that silence accepts",
                event.sequence,
                short(session)
            );
            findings.push(Finding::new("L14", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{OTHER, Sample, id};

    fn asked_and_silent() -> Sample {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 50));
        sample.shown(Kind::RequestHandover, 5, 6, id(1), Status::Queued, None);
        sample.by(OTHER);
        sample.ended_by_clock(id(1), Status::Released);
        sample
    }

    #[test]
    fn silence_is_consent_towards_who_may_force() {
        let mut sample = asked_and_silent();
        sample.may_force(OTHER);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_request_that_lapses_ends_nothing() {
        assert_eq!(asked_and_silent().found(check), ["L14"]);
        let mut sample = asked_and_silent();
        sample.ended_by_clock(id(1), Status::Expired);
        sample.event(1, 10, "session.handover_lapsed", id(1), None);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn what_silence_accepts_does_not_lapse() {
        let mut sample = asked_and_silent();
        sample.may_force(OTHER);
        sample.event(1, 10, "session.handover_lapsed", id(1), None);
        assert_eq!(sample.found(check), ["L14"]);
    }

    #[test]
    fn a_session_is_not_released_by_the_clock_unasked() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 50));
        sample.ended_by_clock(id(1), Status::Released);
        assert_eq!(sample.found(check), ["L14"]);
    }
}
