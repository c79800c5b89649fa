//! Counts what a run has come across, so that one that never gets anywhere interesting does not pass for a good one.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use greenroom_domain::environment::{Command, Refusal};
use greenroom_domain::rights::Barred;

use crate::model::Expected;
use crate::step::Way;

/// What every run of the usual size comes across. `OthersWait` is not here: a settled lock is not free while somebody waits.
const MUST_OCCUR: [&str; 24] = [
    "AtOnce claim",
    "AtOnce release",
    "AtOnceInCommand claim",
    "AtOnceInCommand release",
    "Long claim",
    "Long release",
    "deployment.canceled",
    "deployment.queued",
    "due",
    "refused: held by you",
    "refused: locked",
    "refused: not active",
    "refused: waits already",
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
        for told in &expected.told {
            self.add(told.event_type.as_str());
            if told.reason.as_deref() == Some(Barred::Role.reason()) {
                self.add("skipped");
            }
        }
        if let Err(refusal) = expected.applied {
            self.add(match refusal {
                Refusal::Locked { .. } => "refused: locked",
                Refusal::HeldByYou { .. } => "refused: held by you",
                Refusal::OthersWait => "refused: others wait",
                Refusal::NotActive => "refused: not active",
                Refusal::HandoverPending { .. } => "refused: asked already",
                Refusal::NoHandover => "refused: nobody asked",
                Refusal::AlreadyQueued { .. } => "refused: waits already",
                Refusal::QueueFull | Refusal::PlacesUsedUp => "refused: no place",
            });
        }
        if expected.due {
            self.add("due");
        }
        let way = if expected.at_once { expected.ask.way } else { Way::Long };
        match expected.ask.command {
            Command::Claim(_) if expected.applied.is_ok() => self.add(&format!("{way:?} claim")),
            Command::Release(_) if !expected.told.is_empty() => self.add(&format!("{way:?} release")),
            _ => {}
        }
    }

    fn add(&self, what: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(what.to_owned()).or_default() += 1;
    }

    /// What must occur and has not yet.
    pub fn missing(&self) -> Vec<&'static str> {
        let counts = self.0.lock().unwrap();
        MUST_OCCUR.iter().copied().filter(|what| !counts.contains_key(*what)).collect()
    }

    pub fn assert_varied(&self) {
        let missing = self.missing();
        let counts = self.0.lock().unwrap();
        assert!(missing.is_empty(), "the run never came across {missing:?}, only {counts:#?}");
    }
}
