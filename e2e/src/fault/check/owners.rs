//! L8: a session is ended only by its own user, by a maintainer, or by the member who takes its user's rights
//! away. A release ends that session and no other.

use std::collections::HashSet;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Barred, Kind, Status};

/// The harness and PostgreSQL use the same clock, but read it at different moments.
const MARGIN: Micros = SECOND / 20;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut released: HashSet<(Uuid, Uuid)> = HashSet::new();
    for op in evidence.ops {
        let Some(row) = op.session.and_then(|session| evidence.sessions.get(&session)) else { continue };
        let is_foreign = row.user != op.user;
        let allowed = op.kind == Kind::Release && evidence.people.maintainers.contains(&op.user);
        if op.kind.is_change() && is_foreign && !allowed && op.ok().is_some() {
            let text = format!("{} acted in {} of another user", op.name(), short(row.id));
            findings.push(Finding::new("L8", text));
        }
        if matches!(op.kind, Kind::Release | Kind::AcceptHandover) && op.may_have_happened() {
            released.insert((row.id, op.user));
        }
    }
    // The harness also releases sessions when it injects faults. Those requests are not in the history of
    // operations.
    let clients: HashSet<Uuid> = evidence.ops.iter().map(|op| op.user).collect();
    let ends = [Status::Released, Status::Canceled];
    for row in evidence.ledger.sessions.iter().filter(|row| ends.contains(&row.status)) {
        let Some(by) = row.ended_by else { continue };
        // A user who loses the right to hold loses the sessions held; the member who took the right away is
        // recorded as the actor.
        let lost = |barred: &Barred| {
            let ended = row.ended_at.unwrap_or_default();
            barred.user == row.user
                && barred.by == by
                && barred.may_have_been_between(ended - MARGIN, ended + MARGIN)
        };
        if evidence.people.barred.iter().any(lost) {
            continue;
        }
        if by != row.user && !evidence.people.maintainers.contains(&by) {
            let text = format!("environment {}: another user ended {}", row.environment, short(row.id));
            findings.push(Finding::new("L8", text));
        } else if clients.contains(&by) && !released.contains(&(row.id, by)) {
            let text = format!("environment {}: {} ended without a request", row.environment, short(row.id));
            findings.push(Finding::new("L8", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{OTHER, OWNER, Sample, id};

    #[test]
    fn a_session_is_ended_by_its_own_user() {
        let mut sample = Sample::default();
        sample.shown(Kind::Release, 0, 10, id(1), Status::Released, Some(1));
        sample.session(id(1), 1, Some(1), (0, 5));
        sample.ended(id(1), Status::Released, OWNER);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn another_user_has_no_access() {
        let mut sample = Sample::default();
        sample.shown(Kind::Release, 0, 10, id(1), Status::Released, Some(1));
        sample.set_user(OTHER);
        sample.session(id(1), 1, Some(1), (0, 5));
        assert_eq!(sample.found(check), ["L8"]);
        sample.ended(id(1), Status::Released, OTHER);
        assert_eq!(sample.found(check), ["L8", "L8"]);
    }

    #[test]
    fn a_demoted_user_loses_held_sessions() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 5));
        sample.ended(id(1), Status::Released, OTHER);
        assert_eq!(sample.found(check), ["L8"]);
        sample.barred(OWNER, 6, 20);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_release_ends_no_other_session() {
        let mut sample = Sample::default();
        sample.shown(Kind::Release, 0, 10, id(2), Status::Released, Some(1));
        sample.session(id(1), 1, Some(1), (0, 5));
        sample.ended(id(1), Status::Released, OWNER);
        assert_eq!(sample.found(check), ["L8"]);
    }
}
