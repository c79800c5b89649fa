//! L13: who may not hold, neither holds nor waits. Nothing is granted to a member from the moment in which a demotion or removal was
//! answered until the way back was asked for, and what they held or waited for ended with it.

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::Barred;
use crate::fault::ledger::SessionRow;

/// The clocks of the harness and of PostgreSQL are one, but read at different moments.
const MARGIN: Micros = SECOND / 20;
/// Within this time a worker ends what was granted while the right was being taken away, even if a fault is in its way.
const FOLLOWED_UP: Micros = 30 * SECOND;

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
                (false, false) => "went on for",
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

/// It was asked for before the demotion was answered, so that both were under way at once, and it was ended soon afterwards.
fn was_concurrent(evidence: &Evidence<'_>, row: &SessionRow, barred: &Barred) -> bool {
    let asked_before = evidence.requests.get(&row.request).is_some_and(|op| op.invoked <= barred.since);
    let begun_after = row.queued_at.or(row.claimed_at).is_some_and(|begun| begun >= barred.asked);
    asked_before && begun_after && row.ended_at.is_some_and(|ended| ended < barred.since + FOLLOWED_UP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{OTHER, OWNER, Sample, id};
    use crate::fault::history::Kind;

    #[test]
    fn what_ends_with_the_right_is_in_order() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, SECOND));
        sample.waited(id(2), 2, 0, SECOND);
        sample.session(id(3), 3, Some(3), (9 * SECOND, 10 * SECOND));
        sample.barred(OWNER, SECOND, 8 * SECOND);
        sample.barred(OTHER, 9 * SECOND, 10 * SECOND);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn nothing_is_granted_to_who_may_not_hold() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (2 * SECOND, 3 * SECOND));
        sample.barred(OWNER, SECOND, 8 * SECOND);
        assert_eq!(sample.found(check), ["L13"]);
    }

    #[test]
    fn what_was_asked_for_at_the_same_time_is_ended_soon() {
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
    fn what_was_held_or_waited_for_does_not_go_on() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 3 * SECOND));
        sample.waited(id(2), 2, 0, 3 * SECOND);
        sample.barred(OWNER, SECOND, 8 * SECOND);
        assert_eq!(sample.found(check), ["L13", "L13"]);
    }
}
