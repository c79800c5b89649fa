//! The approvals that were seen open. A background task reads them from the API, and voters and attackers go through them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use uuid::Uuid;

use crate::fault::fixture::parse_id;

#[derive(Clone, Debug)]
pub(crate) struct OpenApproval {
    pub(crate) id: Uuid,
    pub(crate) deployment: Uuid,
    pub(crate) stage: String,
    pub(crate) digest: String,
}

impl OpenApproval {
    fn parse(record: &Value) -> Option<Self> {
        Some(Self {
            id: record["id"].as_str().and_then(parse_id)?,
            deployment: record["deploymentId"].as_str().and_then(parse_id)?,
            stage: record["stage"].as_str()?.to_owned(),
            digest: record["subjectDigest"].as_str()?.to_owned(),
        })
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// In the order in which they were seen.
    all: Vec<Arc<OpenApproval>>,
    ids: HashSet<Uuid>,
    pending: HashSet<Uuid>,
}

#[derive(Debug, Default)]
pub(crate) struct Board {
    seen: Mutex<Seen>,
    is_closed: AtomicBool,
    /// Votes that were acknowledged.
    acknowledged: AtomicU64,
    in_flight: AtomicU64,
}

impl Board {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the pending approvals.
    pub(crate) fn update(&self, records: &[Value]) {
        let mut seen = self.seen();
        seen.pending.clear();
        for approval in records.iter().filter_map(OpenApproval::parse) {
            seen.pending.insert(approval.id);
            if seen.ids.insert(approval.id) {
                seen.all.push(Arc::new(approval));
            }
        }
    }

    /// Returns the approvals from this position on.
    pub(crate) fn since(&self, position: usize) -> Vec<Arc<OpenApproval>> {
        self.seen().all.get(position..).unwrap_or_default().to_vec()
    }

    pub(crate) fn is_pending(&self, approval: Uuid) -> bool {
        self.seen().pending.contains(&approval)
    }

    pub(crate) fn pending_count(&self) -> usize {
        self.seen().pending.len()
    }

    /// Returns whether it is the first approval of its stage that was seen.
    pub(crate) fn is_first(&self, approval: &OpenApproval) -> bool {
        let is_same = |other: &&Arc<OpenApproval>| {
            other.deployment == approval.deployment && other.stage == approval.stage
        };
        self.seen().all.iter().find(is_same).is_some_and(|first| first.id == approval.id)
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Counts a request that is sent now.
    pub(crate) fn sent(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the response to a request.
    pub(crate) fn received(&self, is_stored: bool) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.acknowledged.fetch_add(u64::from(is_stored), Ordering::Relaxed);
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Returns whether a fault now would hit votes on open approvals.
    pub(crate) fn has_open_votes(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0 && self.pending_count() > 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_approval_is_listed_once_and_pending_while_it_is_read() {
        let record = |number: u32, stage: &str| {
            json!({
                "id": format!("apr_{}", Uuid::from_u128(u128::from(number))),
                "deploymentId": format!("dep_{}", Uuid::nil()),
                "stage": stage,
                "subjectDigest": "sha256:0",
            })
        };
        let board = Board::default();
        board.update(&[record(1, "plain")]);
        board.update(&[record(2, "plain"), record(3, "late")]);
        let all = board.since(0);
        assert_eq!((all.len(), board.since(2).len(), board.since(9).len()), (3, 1, 0));
        assert_eq!((board.is_pending(all[0].id), board.is_pending(all[1].id)), (false, true));
        assert_eq!(
            (board.is_first(&all[0]), board.is_first(&all[1]), board.is_first(&all[2])),
            (true, false, true)
        );
        assert!(!board.has_open_votes());
        board.sent();
        assert!(board.has_open_votes());
        board.received(true);
        assert_eq!((board.has_open_votes(), board.acknowledged()), (false, 1));
    }
}
