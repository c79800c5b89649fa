//! L13: a user without the right to hold neither holds nor waits. From the response to a demotion or removal
//! until the request that restores the member, nothing is granted to them. What they held or waited for ends
//! with the demotion or removal.

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::Barred;
use crate::fault::ledger::SessionRow;

/// The harness and PostgreSQL use the same clock, but read it at different moments.
const MARGIN: Micros = SECOND / 20;
/// Within this time a worker ends what was granted while the right was being taken away, even during a fault.
const FOLLOW_UP_TIMEOUT: Micros = 30 * SECOND;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for barred in evidence.people.barred {
        let (since, until) = (barred.since + MARGIN, barred.until - MARGIN);
        for row in evidence.ledger.sessions.iter().filter(|row| row.user == barred.user) {
            let begun = row.queued_at.or(row.claimed_at).unwrap_or(Micros::MAX);
            let lives = begun < until && row.ended_at.is_none_or(|ended| ended > since);
            if !lives || was_concurrent(evidence, row, barred) {
                continue;
            }
            let granted = row.claimed_at.is_some_and(|at| (since..until).contains(&at));
            let what = match (granted, begun > since) {
                (true, _) => "was granted to",
                (false, true) => "was queued by",
                (false, false) => "continued for",
            };
            let text = format!(
                "environment {}: {} {what} {}, who had lost the right to hold {} ms before",
                row.environment,
                short(row.id),
                short(row.user),
                (row.claimed_at.filter(|_| granted).unwrap_or(begun.max(since)) - barred.since) / 1_000
            );
            findings.push(Finding::new("L13", text));
        }
    }
    findings
}

/// Returns whether the session was requested before the response to the demotion, so that the two were
/// concurrent, and was ended soon afterwards.
fn was_concurrent(evidence: &Evidence<'_>, row: &SessionRow, barred: &Barred) -> bool {
    let requested_before = evidence.requests.get(&row.request).is_some_and(|op| op.invoked <= barred.since);
    let begun_after = row.queued_at.or(row.claimed_at).is_some_and(|begun| begun >= barred.requested);
    requested_before
        && begun_after
        && row.ended_at.is_some_and(|ended| ended < barred.since + FOLLOW_UP_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{OTHER, OWNER, Sample, id};
    use crate::fault::history::Kind;

    #[test]
    fn sessions_that_end_with_the_right_are_good() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, SECOND));
        sample.waited(id(2), 2, 0, SECOND);
        sample.session(id(3), 3, Some(3), (9 * SECOND, 10 * SECOND));
        sample.barred(OWNER, SECOND, 8 * SECOND);
        sample.barred(OTHER, 9 * SECOND, 10 * SECOND);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn nothing_is_granted_without_the_right_to_hold() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (2 * SECOND, 3 * SECOND));
        sample.barred(OWNER, SECOND, 8 * SECOND);
        assert_eq!(sample.found(check), ["L13"]);
    }

    #[test]
    fn a_concurrent_request_is_ended_soon() {
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Claim, SECOND - 5, 3 * SECOND);
        sample.session(id(1), 1, Some(1), (2 * SECOND, 3 * SECOND));
        sample.requested(id(1), request);
        sample.barred(OWNER, SECOND, 80 * SECOND);
        assert_eq!(sample.found(check), Vec::<&str>::new());
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Claim, SECOND - 5, 3 * SECOND);
        sample.session(id(1), 1, Some(1), (2 * SECOND, 60 * SECOND));
        sample.requested(id(1), request);
        sample.barred(OWNER, SECOND, 80 * SECOND);
        assert_eq!(sample.found(check), ["L13"]);
    }

    #[test]
    fn a_waiter_is_not_granted_its_turn_afterwards() {
        let mut sample = Sample::default();
        sample.waited_and_held(id(1), 1, Some(1), (0, 2 * SECOND, 3 * SECOND));
        sample.barred(OWNER, SECOND, 8 * SECOND);
        assert_eq!(sample.found(check), ["L13"]);
    }

    #[test]
    fn held_and_waiting_sessions_do_not_continue() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 3 * SECOND));
        sample.waited(id(2), 2, 0, 3 * SECOND);
        sample.barred(OWNER, SECOND, 8 * SECOND);
        assert_eq!(sample.found(check), ["L13", "L13"]);
    }
}
