//! L9: a later read never returns an older lock. L3, in part: an end is final; a session that was shown as
//! ended is never shown as held again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Environment, Kind, LockView, Op, Status};
use crate::fault::ledger::SessionRow;

/// The harness and PostgreSQL use the same clock, but read it at different moments.
const MARGIN: Micros = SECOND / 5;

/// What a response shows of an environment's lock at some moment between its invocation and its return.
#[derive(Clone, Copy, Debug)]
struct Observation {
    invoked: Micros,
    returned: Micros,
    number: u64,
    state: LockState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockState {
    Held(i64),
    /// The holder with this fence has ended.
    Ended(i64),
    Free,
}

/// The minimum state of a lock: granted with this fence, or that grant ended; and the operation that showed
/// it.
type Floor = (i64, bool, u64);

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut rows: HashMap<(Environment, i64), &SessionRow> = HashMap::new();
    for row in &evidence.ledger.sessions {
        row.fence.inspect(|fence| {
            rows.insert((row.environment, *fence), row);
        });
    }
    let mut findings = Vec::new();
    for (environment, mut observations) in observations(evidence) {
        observations.sort_by_key(|observation| observation.invoked);
        findings.extend(sweep(environment, &observations, &rows));
    }
    findings
}

fn observations(evidence: &Evidence<'_>) -> HashMap<Environment, Vec<Observation>> {
    let mut observations: HashMap<Environment, Vec<Observation>> = HashMap::new();
    for op in evidence.ops.iter().filter(|op| !op.is_repetition()) {
        let mut note = |environment: Environment, state: LockState| {
            let (invoked, returned, number) = (op.invoked, op.returned, op.number);
            observations.entry(environment).or_default().push(Observation {
                invoked,
                returned,
                number,
                state,
            });
        };
        if let Some((environment, state)) = of_session(evidence, op) {
            note(environment, state);
        }
        if let Some(response) = op.ok() {
            response.locks.iter().for_each(|(environment, lock)| note(*environment, of_lock(lock)));
        }
        if let (Some(environment), Some(lock)) =
            (op.environment, op.refused().and_then(|refused| refused.lock))
        {
            note(environment, of_lock(&lock));
        }
    }
    observations
}

fn of_lock(lock: &LockView) -> LockState {
    lock.held.map_or(LockState::Free, |held| LockState::Held(held.fence))
}

fn of_session(evidence: &Evidence<'_>, op: &Op) -> Option<(Environment, LockState)> {
    let environment = op.environment?;
    let fence_of = |session| evidence.sessions.get(&session).and_then(|row| row.fence);
    if let Some(view) = op.ok().and_then(|response| response.session) {
        let fence = view.fence?;
        let state = match view.status {
            Status::Active => LockState::Held(fence),
            Status::Queued => return None,
            _ => LockState::Ended(fence),
        };
        return Some((environment, state));
    }
    let fence = fence_of(op.session?)?;
    match op.refused() {
        None if op.kind == Kind::Deploy && op.ok().is_some() => Some((environment, LockState::Held(fence))),
        Some(refused) if refused.code.starts_with("session_") && refused.code != "session_queued" => {
            Some((environment, LockState::Ended(fence)))
        }
        _ => None,
    }
}

fn sweep(
    environment: Environment,
    observations: &[Observation],
    rows: &HashMap<(Environment, i64), &SessionRow>,
) -> Vec<Finding> {
    let mut open: BinaryHeap<Reverse<(Micros, Floor)>> = BinaryHeap::new();
    let (mut floor, mut findings): (Floor, Vec<Finding>) = ((0, true, 0), Vec::new());
    for observation in observations {
        while let Some(Reverse((_, shown))) =
            open.peek().filter(|Reverse((returned, _))| *returned < observation.invoked)
        {
            floor = floor.max(*shown);
            open.pop();
        }
        let (fence, ended, by) = floor;
        let own = match observation.state {
            LockState::Held(held) => {
                if held < fence {
                    let text = format!(
                        "environment {environment}: op {} shows fence {held} held after op {by} had shown {fence}",
                        observation.number
                    );
                    findings.push(Finding::new("L9", text));
                } else if held == fence && ended {
                    let text = format!(
                        "environment {environment}: op {} shows fence {held} held after op {by} had shown that it has ended",
                        observation.number
                    );
                    findings.push(Finding::new("L3", text));
                }
                (held, false, observation.number)
            }
            LockState::Ended(ended) => (ended, true, observation.number),
            LockState::Free => {
                if let Some(row) = rows.get(&(environment, fence)).filter(|_| !ended)
                    && row.ended_at.is_none_or(|ended_at| ended_at > observation.returned + MARGIN)
                {
                    let text = format!(
                        "environment {environment}: op {} shows it free, but op {by} had shown {} hold it with fence {fence}, which \
                         ended later",
                        observation.number,
                        short(row.id)
                    );
                    findings.push(Finding::new("L9", text));
                }
                (fence, true, observation.number)
            }
        };
        open.push(Reverse((observation.returned, own)));
    }
    // A response shows its session and its environment's lock, so the same error may appear twice.
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    #[test]
    fn reads_that_go_forward_are_good() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.lock_read(11, 12, Some((id(1), 1)));
        sample.granted(Kind::Claim, 15, 20, (id(2), 3));
        // Invoked before the grant returned, so it may show either state.
        sample.lock_read(19, 30, Some((id(1), 1)));
        sample.lock_read(31, 32, Some((id(2), 3)));
        sample.lock_read(33, 34, None);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn an_older_fence_after_a_newer_one_is_a_stale_read() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.granted(Kind::Force, 12, 20, (id(2), 3));
        sample.lock_read(21, 22, Some((id(1), 1)));
        assert_eq!(sample.found(check), ["L9"]);
    }

    #[test]
    fn free_while_it_is_held_is_a_stale_read() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.session(id(1), 1, Some(1), (5, 3 * SECOND));
        sample.lock_read(20, 30, None);
        assert_eq!(sample.found(check), ["L9"]);
    }

    #[test]
    fn a_lease_that_has_ended_is_not_renewed() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.lock_read(20, 30, None);
        sample.renewed(31, 40, (id(1), 1), 99);
        assert_eq!(sample.found(check), ["L3"]);
    }

    #[test]
    fn a_rejection_for_an_ended_session_is_final() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.session(id(1), 1, Some(1), (5, 8));
        sample.refused_in(Kind::Renew, 11, 12, id(1), "session_expired");
        sample.renewed(13, 14, (id(1), 1), 99);
        assert_eq!(sample.found(check), ["L3"]);
    }
}
