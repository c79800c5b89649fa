//! L14: silence is consent only if the requester could have taken the environment by force. A request by
//! anyone else lapses and ends nothing, and only such requests lapse.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Kind, Status};

/// Within this time a worker ends what was granted while the right was being taken away.
const FOLLOW_UP_TIMEOUT: Micros = 30 * SECOND;

/// A request for the hand-over of a session.
#[derive(Default)]
struct HandoverRequests {
    by_forcer: bool,
    by_others: bool,
}

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut requests: HashMap<Uuid, HandoverRequests> = HashMap::new();
    let handover_ops =
        evidence.ops.iter().filter(|op| op.kind == Kind::RequestHandover && op.may_have_happened());
    for op in handover_ops {
        let Some(session) = op.session else { continue };
        let requests = requests.entry(session).or_default();
        match evidence.people.forcers.contains(&op.user) {
            true => requests.by_forcer = true,
            false => requests.by_others = true,
        }
    }
    let mut findings = Vec::new();
    // The system releases sessions of members who keep their rights for one reason only: a hand-over request
    // without a response.
    let by_silence = |status, ended_by: Option<Uuid>| status == Status::Released && ended_by.is_none();
    for row in evidence.ledger.sessions.iter().filter(|row| by_silence(row.status, row.ended_by)) {
        // The system also ends sessions that were granted while their user lost the right to hold.
        let ended = row.ended_at.unwrap_or_default();
        if evidence.people.may_have_been_barred(row.user, ended - FOLLOW_UP_TIMEOUT, ended) {
            continue;
        }
        if !requests.get(&row.id).is_some_and(|requests| requests.by_forcer) {
            let text = format!(
                "environment {}: {} was handed over by silence without a request of a user who could have forced",
                row.environment,
                short(row.id)
            );
            findings.push(Finding::new("L14", text));
        }
    }
    for event in evidence.ledger.events.iter().filter(|event| event.kind == "session.handover_lapsed") {
        let Some(session) = event.session else { continue };
        if !requests.get(&session).is_some_and(|requests| requests.by_others) {
            let text = format!(
                "event {}: a request for {} lapsed although it was never made or although silence accepts it",
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

    fn requested_without_decision() -> Sample {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 50));
        sample.shown(Kind::RequestHandover, 5, 6, id(1), Status::Queued, None);
        sample.set_user(OTHER);
        sample.ended_by_system(id(1), Status::Released);
        sample
    }

    #[test]
    fn silence_is_consent_if_the_requester_may_force() {
        let mut sample = requested_without_decision();
        sample.may_force(OTHER);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_request_that_lapses_ends_nothing() {
        assert_eq!(requested_without_decision().found(check), ["L14"]);
        let mut sample = requested_without_decision();
        sample.ended_by_system(id(1), Status::Expired);
        sample.event(1, 10, "session.handover_lapsed", id(1), None);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_request_accepted_by_silence_does_not_lapse() {
        let mut sample = requested_without_decision();
        sample.may_force(OTHER);
        sample.event(1, 10, "session.handover_lapsed", id(1), None);
        assert_eq!(sample.found(check), ["L14"]);
    }

    #[test]
    fn the_system_releases_no_session_without_a_request() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 50));
        sample.ended_by_system(id(1), Status::Released);
        assert_eq!(sample.found(check), ["L14"]);
    }
}
