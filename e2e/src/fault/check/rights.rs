//! L13: a user without the right to hold neither holds nor waits. From the response to a demotion or removal
//! until the request that restores the member, nothing is granted to them. What they held or waited for ends
//! with the demotion or removal.

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Barred, LockView, Op};
use crate::fault::ledger::SessionRow;

/// The harness and PostgreSQL use the same clock, but read it at different moments.
const MARGIN: Micros = SECOND / 20;
/// Within this time a worker ends what was granted while the right was being taken away, even during a fault.
const FOLLOW_UP_TIMEOUT: Micros = 30 * SECOND;
/// No transaction stays open for longer than this.
const TRANSACTION_TIMEOUT: Micros = 30 * SECOND;

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
                "environment {}: {} {what} {}, who had lost the right to hold {} ms before ({})",
                row.environment,
                short(row.id),
                short(row.user),
                (row.claimed_at.filter(|_| granted).unwrap_or(begun.max(since)) - barred.since) / 1_000,
                times(evidence, row, barred),
            );
            findings.push(Finding::new("L13", text));
        }
    }
    findings
}

/// Returns the times that decide whether this is a violation, relative to the response to the demotion.
fn times(evidence: &Evidence<'_>, row: &SessionRow, barred: &Barred) -> String {
    let millis = |at: Micros| format!("{:+} ms", (at - barred.since) / 1_000);
    let optional = |at: Option<Micros>| at.map_or_else(|| "never".to_owned(), millis);
    let request = evidence.requests.get(&row.request);
    format!(
        "demotion requested {}, restored {}; session requested {}, answered {}, queued {}, claimed {}, ended {}",
        millis(barred.requested),
        millis(barred.restored),
        optional(request.map(|op| op.invoked)),
        optional(request.filter(|op| op.ok().is_some()).map(|op| op.returned)),
        optional(row.queued_at),
        optional(row.claimed_at),
        optional(row.ended_at),
    )
}

/// Returns whether the session's request and the demotion were concurrent, and the session did not outlast the
/// follow-up of the demotion. `claimed_at` and `queued_at` are no evidence against that: a session is recorded
/// at the time of its grant, and becomes visible to the demotion only when its transaction commits, which a
/// fault can delay by many seconds.
fn was_concurrent(evidence: &Evidence<'_>, row: &SessionRow, barred: &Barred) -> bool {
    let requested_before = evidence.requests.get(&row.request).is_some_and(|op| op.invoked <= barred.since);
    // A response that contains the session proves that its transaction had committed by then.
    let seen_before = evidence.ops.iter().any(|op| op.returned < barred.requested && shows(op, row.id));
    let may_commit_after =
        row.queued_at.or(row.claimed_at).is_some_and(|begun| begun + TRANSACTION_TIMEOUT >= barred.requested);
    let follow_up = barred.since + FOLLOW_UP_TIMEOUT;
    // A member who is restored in time keeps what they hold then.
    let was_ended = row.ended_at.is_some_and(|ended| ended < follow_up) || barred.restored < follow_up;
    requested_before && !seen_before && may_commit_after && was_ended
}

/// Returns whether the response contains the session.
fn shows(op: &Op, session: Uuid) -> bool {
    let in_lock = |lock: &LockView| lock.held.is_some_and(|held| held.session == session);
    op.ok().is_some_and(|response| {
        response.session.is_some_and(|view| view.id == session)
            || response.locks.iter().any(|(_, lock)| in_lock(lock))
    }) || op.refused().is_some_and(|refused| refused.lock.as_ref().is_some_and(in_lock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{OTHER, OWNER, Sample, id};
    use crate::fault::history::{Kind, Status};

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
    fn a_session_that_commits_after_the_demotion_is_ended_soon() {
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Claim, 0, 3 * SECOND);
        sample.session(id(1), 1, Some(1), (SECOND / 2, 3 * SECOND));
        sample.requested(id(1), request);
        sample.barred(OWNER, SECOND, 80 * SECOND);
        assert_eq!(sample.found(check), Vec::<&str>::new());
        // A response shows that it had committed before.
        sample.shown(Kind::GetSession, SECOND / 2, SECOND - 20, id(1), Status::Active, Some(1));
        assert_eq!(sample.found(check), ["L13"]);
    }

    #[test]
    fn a_transaction_does_not_stay_open_for_minutes() {
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Claim, 0, 3 * SECOND);
        sample.session(id(1), 1, Some(1), (SECOND, 92 * SECOND));
        sample.requested(id(1), request);
        sample.barred(OWNER, 90 * SECOND, 95 * SECOND);
        assert_eq!(sample.found(check), ["L13"]);
    }

    #[test]
    fn a_member_who_is_restored_soon_keeps_a_concurrent_session() {
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Claim, SECOND - 5, 3 * SECOND);
        sample.session(id(1), 1, Some(1), (2 * SECOND, 60 * SECOND));
        sample.requested(id(1), request);
        sample.barred(OWNER, SECOND, 4 * SECOND);
        assert_eq!(sample.found(check), Vec::<&str>::new());
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
