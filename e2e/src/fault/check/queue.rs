//! L11: first come, first served. Except by force, no session is granted a lock while an earlier one still
//! waits.

use std::collections::HashMap;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::Micros;
use crate::fault::finding::Finding;
use crate::fault::history::{Environment, Kind};
use crate::fault::ledger::SessionRow;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut waiters: HashMap<Environment, Vec<(&SessionRow, Micros)>> = HashMap::new();
    for row in &evidence.ledger.sessions {
        if let Some(queued_at) = row.queued_at {
            waiters.entry(row.environment).or_default().push((row, queued_at));
        }
    }
    let mut findings = Vec::new();
    for (environment, grants) in evidence.grants() {
        let Some(waiters) = waiters.get_mut(&environment) else { continue };
        waiters.sort_by_key(|(_, queued_at)| *queued_at);
        // A request whose outcome is unknown may have been a force.
        let by_force =
            |row: &SessionRow| evidence.requests.get(&row.request).is_none_or(|op| op.kind == Kind::Force);
        for grant in grants.into_iter().filter(|row| row.queued_at.is_some() || !by_force(row)) {
            findings.extend(overtaken(grant, waiters));
        }
    }
    findings
}

/// Times are read with the environment's row locked, so they can be compared to the microsecond.
fn overtaken(grant: &SessionRow, waiters: &[(&SessionRow, Micros)]) -> Option<Finding> {
    let at = grant.claimed_at?;
    let end = waiters.partition_point(|(_, queued_at)| *queued_at < at);
    let waits = |row: &SessionRow| {
        let left = row.claimed_at.or(row.ended_at);
        row.ordinal < grant.ordinal && left.is_none_or(|left| left > at)
    };
    let (overtaken, _) =
        waiters[..end].iter().rev().take(200).find(|(row, _)| row.id != grant.id && waits(row))?;
    let text = format!(
        "environment {}: {} (ordinal {}) was granted while {} (ordinal {}) waited",
        grant.environment,
        short(grant.id),
        grant.ordinal,
        short(overtaken.id),
        overtaken.ordinal
    );
    Some(Finding::new("L11", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    #[test]
    fn first_come_first_served() {
        let mut sample = Sample::default();
        sample.waited_and_held(id(1), 1, Some(3), (10, 20, 30));
        sample.waited_and_held(id(2), 2, Some(5), (11, 30, 40));
        // Left the queue at the moment in which the next session was granted.
        sample.waited(id(3), 3, 12, 40);
        sample.waited_and_held(id(4), 4, Some(7), (13, 40, 50));
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_later_waiter_does_not_overtake() {
        let mut sample = Sample::default();
        sample.waited_and_held(id(1), 1, Some(5), (10, 30, 40));
        sample.waited_and_held(id(2), 2, Some(3), (11, 20, 30));
        assert_eq!(sample.found(check), ["L11"]);
    }

    #[test]
    fn a_plain_claim_does_not_overtake() {
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Claim, 10, 15);
        sample.waited_and_held(id(1), 1, Some(5), (10, 30, 40));
        sample.session(id(2), 2, Some(3), (20, 30));
        sample.requested(id(2), request);
        assert_eq!(sample.found(check), ["L11"]);
    }

    #[test]
    fn a_force_overtakes() {
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Force, 10, 15);
        sample.waited_and_held(id(1), 1, Some(5), (10, 30, 40));
        sample.session(id(2), 2, Some(3), (20, 30));
        sample.requested(id(2), request);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }
}
