//! The checker: pure judgement of a history. Each file is a property of the lock, or some that belong together; their
//! numbers are those of docs/reliability.md.

mod answers;
mod durable;
mod effects;
mod ends;
mod events;
mod fences;
mod force;
mod overlap;
mod owners;
mod queue;
mod reads;
mod replay;
mod retries;
#[cfg(test)]
mod sample;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::fault::finding::Finding;
use crate::fault::history::{Environment, Op};
use crate::fault::ledger::{Ledger, SessionRow};
use crate::fault::target::Write;

/// All that is known of a chapter.
pub(crate) struct Evidence<'a> {
    ops: &'a [Op],
    writes: &'a [Write],
    ledger: &'a Ledger,
    maintainers: &'a HashSet<Uuid>,
    sessions: HashMap<Uuid, &'a SessionRow>,
    /// The first attempt of each request.
    requests: HashMap<u64, &'a Op>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        ops: &'a [Op],
        writes: &'a [Write],
        ledger: &'a Ledger,
        maintainers: &'a HashSet<Uuid>,
    ) -> Self {
        let sessions = ledger.sessions.iter().map(|session| (session.id, session)).collect();
        let requests = ops.iter().filter(|op| !op.is_repetition()).map(|op| (op.number, op)).collect();
        Self { ops, writes, ledger, maintainers, sessions, requests }
    }

    /// The sessions that held the lock, by environment, in the order of their fences.
    fn grants(&self) -> HashMap<Environment, Vec<&'a SessionRow>> {
        let mut grants: HashMap<Environment, Vec<&SessionRow>> = HashMap::new();
        for session in self.ledger.sessions.iter().filter(|session| session.fence.is_some()) {
            grants.entry(session.environment).or_default().push(session);
        }
        grants.values_mut().for_each(|sessions| sessions.sort_by_key(|session| session.fence));
        grants
    }
}

pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Finding> {
    let checks = [
        answers::check,
        fences::check,
        overlap::check,
        reads::check,
        effects::check,
        ends::check,
        force::check,
        retries::check,
        owners::check,
        queue::check,
        replay::check,
        events::check,
        durable::check,
    ];
    checks.iter().flat_map(|check| check(evidence)).collect()
}

/// The end of an id, which is where ids differ.
fn short(id: Uuid) -> String {
    let text = id.as_simple().to_string();
    format!("…{}", &text[text.len() - 8..])
}
