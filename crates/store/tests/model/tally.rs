//! Counts what a run has covered, so that a run without any interesting cases fails.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use greenroom_domain::environment::{LockCommand, Refusal};
use greenroom_domain::rights::Barred;

use crate::model::Expected;
use crate::step::GrantPath;

/// What every run of the default size covers. `OthersWait` is not included: a settled lock with a queue is
/// never free.
const MUST_OCCUR: [&str; 24] = [
    "Fast claim",
    "Fast release",
    "FastInCommand claim",
    "FastInCommand release",
    "Slow claim",
    "Slow release",
    "deployment.canceled",
    "deployment.queued",
    "due",
    "refused: held by you",
    "refused: locked",
    "refused: not active",
    "refused: already queued",
    "session.canceled",
    "session.claimed",
    "session.expired",
    "session.granted",
    "session.handover_declined",
    "session.handover_lapsed",
    "session.handover_requested",
    "session.overridden",
    "session.queued",
    "session.released",
    "skipped",
];

#[derive(Debug, Default)]
pub struct Tally(Mutex<BTreeMap<String, usize>>);

impl Tally {
    pub fn count(&self, expected: &Expected) {
        for event in &expected.events {
            self.add(event.event_type.as_str());
            if event.reason.as_deref() == Some(Barred::Role.reason()) {
                self.add("skipped");
            }
        }
        if let Err(refusal) = expected.applied {
            self.add(match refusal {
                Refusal::Locked { .. } => "refused: locked",
                Refusal::HeldByYou { .. } => "refused: held by you",
                Refusal::OthersWait => "refused: others wait",
                Refusal::NotActive => "refused: not active",
                Refusal::HandoverPending { .. } => "refused: handover pending",
                Refusal::NoHandover => "refused: no handover",
                Refusal::AlreadyQueued { .. } => "refused: already queued",
                Refusal::QueueFull | Refusal::PlacesUsedUp => "refused: no place",
                Refusal::SessionLimit => "refused: session limit",
            });
        }
        if expected.due {
            self.add("due");
        }
        let path = if expected.fast_path { expected.request.path } else { GrantPath::Slow };
        match expected.request.command {
            LockCommand::Claim(_) if expected.applied.is_ok() => self.add(&format!("{path:?} claim")),
            LockCommand::Release(_) if !expected.events.is_empty() => self.add(&format!("{path:?} release")),
            _ => {}
        }
    }

    fn add(&self, what: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(what.to_owned()).or_default() += 1;
    }

    /// Returns the entries of `MUST_OCCUR` that have not occurred yet.
    pub fn missing(&self) -> Vec<&'static str> {
        let counts = self.0.lock().unwrap();
        MUST_OCCUR.iter().copied().filter(|what| !counts.contains_key(*what)).collect()
    }

    pub fn assert_varied(&self) {
        let missing = self.missing();
        let counts = self.0.lock().unwrap();
        assert!(missing.is_empty(), "the run did not cover {missing:?}, only {counts:#?}");
    }
}
