//! The checker: pure judgement of a history. Each file is a property of the lock, or some that belong together; their
//! numbers are those of docs/reliability.md.

mod answers;
mod cancel;
mod confirm;
mod durable;
mod effects;
mod ends;
mod events;
mod fences;
mod force;
mod handover;
mod overlap;
mod owners;
mod queue;
mod reads;
mod replay;
mod retries;
mod rights;
#[cfg(test)]
mod sample;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::finding::Finding;
use crate::fault::history::{Barred, Environment, Op};
use crate::fault::ledger::{Ledger, SessionRow};
use crate::fault::target::Write;

/// Who may do what.
#[derive(Clone, Copy)]
pub(crate) struct People<'a> {
    /// Who may end others' sessions.
    pub(crate) maintainers: &'a HashSet<Uuid>,
    /// Who may take over by force.
    pub(crate) forcers: &'a HashSet<Uuid>,
    /// When whose rights were taken away.
    pub(crate) barred: &'a [Barred],
}

impl People<'_> {
    /// Whether this user may have been demoted or removed at some moment between these.
    fn may_have_been_barred(&self, user: Uuid, from: Micros, to: Micros) -> bool {
        self.barred.iter().any(|barred| barred.user == user && barred.may_have_been_between(from, to))
    }

    /// How long before this moment the user's rights were last restored.
    fn since_restored(&self, user: Uuid, at: Micros) -> Option<Micros> {
        let earlier = |barred: &&Barred| barred.user == user && barred.over <= at;
        self.barred.iter().filter(earlier).map(|barred| at - barred.over).min()
    }
}

/// All that is known of a chapter.
pub(crate) struct Evidence<'a> {
    ops: &'a [Op],
    writes: &'a [Write],
    ledger: &'a Ledger,
    people: People<'a>,
    sessions: HashMap<Uuid, &'a SessionRow>,
    /// The first attempt of each request.
    requests: HashMap<u64, &'a Op>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(ops: &'a [Op], writes: &'a [Write], ledger: &'a Ledger, people: People<'a>) -> Self {
        let sessions = ledger.sessions.iter().map(|session| (session.id, session)).collect();
        let requests = ops.iter().filter(|op| !op.is_repetition()).map(|op| (op.number, op)).collect();
        Self { ops, writes, ledger, people, sessions, requests }
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
        rights::check,
        handover::check,
        confirm::check,
        cancel::check,
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
