//! L3: two sessions never definitely hold the same lock. Checked by the database's rows, by the leases that
//! responses promised, and by what the clients observed.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Kind, Op, Status};
use crate::fault::ledger::SessionRow;

/// The harness and PostgreSQL use the same clock, but read it at different moments.
const MARGIN: Micros = SECOND / 20;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let promises = promises(evidence.ops);
    let mut findings = Vec::new();
    for grants in evidence.grants().values() {
        for pair in grants.windows(2) {
            findings.extend(pair_violation(pair[0], pair[1]));
        }
    }
    let end_events: HashMap<Uuid, Micros> = (evidence.ledger.events.iter())
        .filter(|event| event.kind == "session.expired" || event.kind == "session.canceled")
        .filter_map(|event| Some((event.session?, event.time)))
        .collect();
    for row in &evidence.ledger.sessions {
        let ends = [row.ended_at, end_events.get(&row.id).copied()];
        let by_system = row.fence.is_some() && matches!(row.status, Status::Expired | Status::Canceled);
        if let Some(promised) = promises.get(&row.id).filter(|_| by_system)
            && ends.iter().flatten().any(|end| end < promised)
        {
            let text = format!(
                "environment {}: {} was ended by the system {} µs before its promised end",
                row.environment,
                short(row.id),
                promised - ends.iter().flatten().min().copied().unwrap_or_default()
            );
            findings.push(Finding::new("L3", text));
        }
    }
    findings.extend(seen_by_clients(evidence, &promises));
    findings.extend(dated_ahead(evidence));
    findings
}

/// Returns the latest end of the session's lease in any response.
fn promises(ops: &[Op]) -> HashMap<Uuid, Micros> {
    let mut promises: HashMap<Uuid, Micros> = HashMap::new();
    let mut promise = |session: Uuid, until: Micros| {
        let latest = promises.entry(session).or_insert(until);
        *latest = until.max(*latest);
    };
    for response in ops.iter().filter_map(Op::ok) {
        if let Some(view) = response.session.filter(|view| view.status == Status::Active) {
            view.expires_at.inspect(|until| promise(view.id, *until));
        }
        for held in response.locks.iter().filter_map(|(_, lock)| lock.held) {
            promise(held.session, held.expires_at);
        }
    }
    promises
}

/// Times of grants and ends are read with the environment's row locked, so they can be compared to the
/// microsecond.
fn pair_violation(first: &SessionRow, second: &SessionRow) -> Option<Finding> {
    let (fences, claimed_at) = (first.fence.zip(second.fence)?, second.claimed_at?);
    let text = match first.ended_at {
        None => "has not ended".to_owned(),
        Some(ended_at) if ended_at > claimed_at => format!("ended {} µs later", ended_at - claimed_at),
        Some(_) if fences.1 < fences.0 + 2 => "did not raise the fence with its end".to_owned(),
        Some(_) => return None,
    };
    let text = format!(
        "environment {}: {} was granted with fence {}, but {} with fence {} {text}",
        second.environment,
        short(second.id),
        fences.1,
        short(first.id),
        fences.0
    );
    Some(Finding::new("L3", text))
}

/// The same check without the database: finds a grant that returned while another session had a promised
/// lease, without a release or a takeover in between.
fn seen_by_clients(evidence: &Evidence<'_>, promises: &HashMap<Uuid, Micros>) -> Vec<Finding> {
    let mut ends: HashMap<Uuid, Micros> = HashMap::new();
    let mut forces: HashMap<usize, Vec<Micros>> = HashMap::new();
    for op in evidence.ops.iter().filter(|op| op.may_have_happened()) {
        match (op.kind, op.session, op.environment) {
            (Kind::Release | Kind::AcceptHandover, Some(session), _) => {
                let end = ends.entry(session).or_insert(op.invoked);
                *end = op.invoked.min(*end);
            }
            // Silence is consent if the requester may force.
            (Kind::RequestHandover, Some(session), _) if evidence.people.forcers.contains(&op.user) => {
                ends.entry(session).or_insert(op.invoked);
            }
            (Kind::Force, _, Some(environment)) => forces.entry(environment).or_default().push(op.invoked),
            _ => {}
        }
    }
    let mut granted: HashMap<usize, Vec<(i64, &Op)>> = HashMap::new();
    for op in evidence.ops.iter().filter(|op| op.kind.is_claim() && !op.is_repetition()) {
        let fence = op.ok().and_then(|response| response.session).and_then(|view| view.fence);
        if let Some((environment, fence)) = op.environment.zip(fence) {
            granted.entry(environment).or_default().push((fence, op));
        }
    }
    let mut findings = Vec::new();
    for (environment, mut granted) in granted {
        granted.sort_by_key(|(fence, _)| *fence);
        for pair in granted.windows(2) {
            let ((_, first), (fence, second)) = (pair[0], pair[1]);
            let Some(session) = first.ok().and_then(|response| response.session).map(|view| view.id) else {
                continue;
            };
            let released = ends.get(&session).is_some_and(|invoked| *invoked < second.returned);
            // A user who loses the right to hold also loses the sessions held.
            let barred = evidence.people.may_have_been_barred(first.user, first.invoked, second.returned);
            let released = released || barred;
            let mut taken = forces.get(&environment).into_iter().flatten();
            let taken = taken.any(|invoked| (first.invoked..second.returned).contains(invoked));
            let promised = promises.get(&session).copied().unwrap_or(0);
            if !released && !taken && first.returned < second.invoked && second.returned + MARGIN < promised {
                let text = format!(
                    "environment {environment}: op {} returned with fence {fence} {} µs before the promised end of {}",
                    second.number,
                    promised - second.returned,
                    short(session)
                );
                findings.push(Finding::new("L3", text));
            }
        }
    }
    findings
}

/// A grant is dated before its response is sent, both by the database's clock.
fn dated_ahead(evidence: &Evidence<'_>) -> Vec<Finding> {
    let grants = (evidence.ledger.events.iter())
        .filter(|event| event.kind == "session.claimed" || event.kind == "session.granted");
    let ahead = grants.filter_map(|event| {
        let row = evidence.sessions.get(&event.session?)?;
        let ahead = row.claimed_at? - event.time;
        let text = format!(
            "environment {}: the grant of {} is dated {ahead} µs after its event: not by the database's clock",
            row.environment,
            short(row.id)
        );
        (ahead > 0).then(|| Finding::new("L3", text))
    });
    ahead.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    fn good() -> Sample {
        let mut sample = Sample::default();
        sample.granted_until(Kind::Claim, 0, 10, (id(1), 1), 100);
        sample.session(id(1), 1, Some(1), (5, 100));
        sample.session(id(2), 2, Some(3), (100, 200));
        sample
    }

    #[test]
    fn sequential_holders_are_good() {
        assert_eq!(good().found(check), Vec::<&str>::new());
    }

    #[test]
    fn two_concurrent_holders_overlap() {
        let mut sample = good();
        sample.session(id(3), 3, Some(5), (150, 300));
        assert_eq!(sample.found(check), ["L3"]);
    }

    #[test]
    fn an_end_raises_the_fence() {
        let mut sample = good();
        sample.session(id(3), 3, Some(4), (200, 300));
        assert_eq!(sample.found(check), ["L3"]);
    }

    #[test]
    fn a_promised_lease_is_kept() {
        let mut sample = good();
        sample.renewed(50, 60, (id(1), 1), 150);
        assert_eq!(sample.found(check), ["L3"]);
    }

    #[test]
    fn an_expiry_is_not_recorded_early() {
        let mut sample = good();
        sample.event(1, 90, "session.expired", id(1), None);
        assert_eq!(sample.found(check), ["L3"]);
    }

    #[test]
    fn a_grant_is_dated_by_the_database() {
        let mut sample = good();
        sample.event(1, 4, "session.claimed", id(1), Some(1));
        assert_eq!(sample.found(check), ["L3"]);
    }

    #[test]
    fn clients_alone_see_an_overlap() {
        let mut sample = Sample::default();
        sample.granted_until(Kind::Claim, 0, 10, (id(1), 1), 10 * SECOND);
        sample.granted_until(Kind::Claim, 20, 30, (id(2), 3), 10 * SECOND);
        assert_eq!(sample.found(check), ["L3"]);
        let mut sample = Sample::default();
        sample.granted_until(Kind::Claim, 0, 10, (id(1), 1), 10 * SECOND);
        sample.granted_until(Kind::Force, 20, 30, (id(2), 3), 10 * SECOND);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }
}
