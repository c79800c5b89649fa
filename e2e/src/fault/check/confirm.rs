//! L15: a `GET` changes nothing. A turn that was granted from the queue is confirmed by a heartbeat, a
//! renewal or a deployment of its own user. A turn that was only read ends as canceled; it never expires like
//! a confirmed lease.

use std::collections::HashSet;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::finding::Finding;
use crate::fault::history::Status;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    // If a response was lost, the time of execution is unknown. Any such request may have been the
    // confirmation.
    let confirmed: HashSet<Uuid> = (evidence.ops.iter())
        .filter(|op| op.kind.is_confirmation() && op.may_have_happened())
        .filter_map(|op| op.session)
        .collect();
    let turns = evidence.ledger.sessions.iter().filter(|row| row.queued_at.is_some() && row.fence.is_some());
    turns
        .filter(|row| row.status == Status::Expired && !confirmed.contains(&row.id))
        .map(|row| {
            let text = format!(
                "environment {}: {} was granted from the queue, and its turn was confirmed without a confirming request",
                row.environment,
                short(row.id)
            );
            Finding::new("L15", text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};
    use crate::fault::history::Kind;

    fn turn_that_expired() -> Sample {
        let mut sample = Sample::default();
        sample.waited_and_held(id(1), 1, Some(3), (10, 20, 30));
        sample.shown(Kind::GetSession, 21, 22, id(1), Status::Active, Some(3));
        sample
    }

    #[test]
    fn a_read_does_not_confirm() {
        let mut sample = turn_that_expired();
        assert_eq!(sample.found(check), ["L15"]);
        sample.ended_by_system(id(1), Status::Canceled);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_heartbeat_confirms() {
        let mut sample = turn_that_expired();
        sample.shown(Kind::Heartbeat, 23, 24, id(1), Status::Active, Some(3));
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }

    #[test]
    fn a_claim_needs_no_confirmation() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(3), (20, 30));
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }
}
