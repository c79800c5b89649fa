//! The checker: pure functions that judge a history. Each file checks one property of the lock, or a few
//! related ones. Their ids are those of docs/reliability.md.

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
mod responses;
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

/// The rights of the users.
#[derive(Clone, Copy)]
pub(crate) struct People<'a> {
    /// Users who may end others' sessions.
    pub(crate) maintainers: &'a HashSet<Uuid>,
    /// Users who may take over by force.
    pub(crate) forcers: &'a HashSet<Uuid>,
    /// The periods in which users had lost their rights.
    pub(crate) barred: &'a [Barred],
}

impl People<'_> {
    /// Returns whether this user may have been demoted or removed at any moment in this interval.
    fn may_have_been_barred(&self, user: Uuid, from: Micros, to: Micros) -> bool {
        self.barred.iter().any(|barred| barred.user == user && barred.may_have_been_between(from, to))
    }

    /// Returns how long before this moment the user's rights were last restored.
    fn since_restored(&self, user: Uuid, at: Micros) -> Option<Micros> {
        let earlier = |barred: &&Barred| barred.user == user && barred.restored <= at;
        self.barred.iter().filter(earlier).map(|barred| at - barred.restored).min()
    }
}

/// Everything observed in a round.
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

    /// Returns the sessions that held the lock, by environment, ordered by fence.
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
        responses::check,
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

/// Returns the end of an id, because ids differ there.
fn short(id: Uuid) -> String {
    let text = id.as_simple().to_string();
    format!("…{}", &text[text.len() - 8..])
}
