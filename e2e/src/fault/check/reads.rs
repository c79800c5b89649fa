//! L9: whoever looks later never sees an older lock. L3, in part: an end is final; what somebody has seen ended is never
//! seen held again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Environment, Kind, LockView, Op, Status};
use crate::fault::ledger::SessionRow;

/// The clocks of the harness and of PostgreSQL are one, but read at different moments.
const MARGIN: Micros = SECOND / 5;

/// What an answer shows of an environment's lock at some moment between its invocation and its return.
#[derive(Clone, Copy, Debug)]
struct Seen {
    invoked: Micros,
    returned: Micros,
    number: u64,
    shows: Shows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Held(i64),
    /// The holder with this fence has ended.
    Ended(i64),
    Free,
}

/// How far a lock has come at least: granted with this fence, or that grant ended; and the operation that showed it.
type Floor = (i64, bool, u64);

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut rows: HashMap<(Environment, i64), &SessionRow> = HashMap::new();
    for row in &evidence.ledger.sessions {
        row.fence.inspect(|fence| {
            rows.insert((row.environment, *fence), row);
        });
    }
    let mut findings = Vec::new();
    for (environment, mut seen) in observations(evidence) {
        seen.sort_by_key(|seen| seen.invoked);
        findings.extend(sweep(environment, &seen, &rows));
    }
    findings
}

fn observations(evidence: &Evidence<'_>) -> HashMap<Environment, Vec<Seen>> {
    let mut seen: HashMap<Environment, Vec<Seen>> = HashMap::new();
    for op in evidence.ops.iter().filter(|op| !op.is_repetition()) {
        let mut note = |environment: Environment, shows: Shows| {
            let (invoked, returned, number) = (op.invoked, op.returned, op.number);
            seen.entry(environment).or_default().push(Seen { invoked, returned, number, shows });
        };
        if let Some((environment, shows)) = of_session(evidence, op) {
            note(environment, shows);
        }
        if let Some(answer) = op.ok() {
            answer.locks.iter().for_each(|(environment, lock)| note(*environment, of_lock(lock)));
        }
        if let (Some(environment), Some(lock)) =
            (op.environment, op.refused().and_then(|refused| refused.lock))
        {
            note(environment, of_lock(&lock));
        }
    }
    seen
}

fn of_lock(lock: &LockView) -> Shows {
    lock.held.map_or(Shows::Free, |held| Shows::Held(held.fence))
}

fn of_session(evidence: &Evidence<'_>, op: &Op) -> Option<(Environment, Shows)> {
    let environment = op.environment?;
    let fence_of = |session| evidence.sessions.get(&session).and_then(|row| row.fence);
    if let Some(view) = op.ok().and_then(|answer| answer.session) {
        let fence = view.fence?;
        let shows = match view.status {
            Status::Active => Shows::Held(fence),
            Status::Queued => return None,
            _ => Shows::Ended(fence),
        };
        return Some((environment, shows));
    }
    let fence = fence_of(op.session?)?;
    match op.refused() {
        None if op.kind == Kind::Deploy && op.ok().is_some() => Some((environment, Shows::Held(fence))),
        Some(refused) if refused.code.starts_with("session_") && refused.code != "session_queued" => {
            Some((environment, Shows::Ended(fence)))
        }
        _ => None,
    }
}

fn sweep(
    environment: Environment,
    seen: &[Seen],
    rows: &HashMap<(Environment, i64), &SessionRow>,
) -> Vec<Finding> {
    let mut open: BinaryHeap<Reverse<(Micros, Floor)>> = BinaryHeap::new();
    let (mut floor, mut findings): (Floor, Vec<Finding>) = ((0, true, 0), Vec::new());
    for look in seen {
        while let Some(Reverse((_, shown))) =
            open.peek().filter(|Reverse((returned, _))| *returned < look.invoked)
        {
            floor = floor.max(*shown);
            open.pop();
        }
        let (fence, ended, by) = floor;
        let own = match look.shows {
            Shows::Held(held) => {
                if held < fence {
                    let text = format!(
                        "environment {environment}: op {} shows fence {held} held after op {by} had shown {fence}",
                        look.number
                    );
                    findings.push(Finding::new("L9", text));
                } else if held == fence && ended {
                    let text = format!(
                        "environment {environment}: op {} shows fence {held} held after op {by} had shown that it is over",
                        look.number
                    );
                    findings.push(Finding::new("L3", text));
                }
                (held, false, look.number)
            }
            Shows::Ended(ended) => (ended, true, look.number),
            Shows::Free => {
                if let Some(row) = rows.get(&(environment, fence)).filter(|_| !ended)
                    && row.ended_at.is_none_or(|ended_at| ended_at > look.returned + MARGIN)
                {
                    let text = format!(
                        "environment {environment}: op {} shows it free, but op {by} had seen {} hold it with fence {fence}, which \
                         ended later",
                        look.number,
                        short(row.id)
                    );
                    findings.push(Finding::new("L9", text));
                }
                (fence, true, look.number)
            }
        };
        open.push(Reverse((look.returned, own)));
    }
    // An answer shows its session and its environment's lock, and may be wrong in both in the same words.
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    #[test]
    fn looks_that_go_forward_are_good() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.looked(11, 12, Some((id(1), 1)));
        sample.granted(Kind::Claim, 15, 20, (id(2), 3));
        // Invoked before the grant returned: it may show either.
        sample.looked(19, 30, Some((id(1), 1)));
        sample.looked(31, 32, Some((id(2), 3)));
        sample.looked(33, 34, None);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn an_older_fence_after_a_newer_one_is_a_stale_read() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.granted(Kind::Force, 12, 20, (id(2), 3));
        sample.looked(21, 22, Some((id(1), 1)));
        assert_eq!(sample.found(check), ["L9"]);
    }

    #[test]
    fn free_while_it_is_held_is_a_stale_read() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.session(id(1), 1, Some(1), (5, 3 * SECOND));
        sample.looked(20, 30, None);
        assert_eq!(sample.found(check), ["L9"]);
    }

    #[test]
    fn a_lease_that_was_over_is_not_renewed() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.looked(20, 30, None);
        sample.renewed(31, 40, (id(1), 1), 99);
        assert_eq!(sample.found(check), ["L3"]);
    }

    #[test]
    fn a_refusal_that_says_ended_is_final() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.session(id(1), 1, Some(1), (5, 8));
        sample.refused_in(Kind::Renew, 11, 12, id(1), "session_expired");
        sample.renewed(13, 14, (id(1), 1), 99);
        assert_eq!(sample.found(check), ["L3"]);
    }
}
