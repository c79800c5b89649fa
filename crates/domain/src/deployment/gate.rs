//! Whether a stage may begin in a lasting environment, such as production. At most one deployment works there at a
//! time: the one that has the environment's work slot. It gets the slot before its first stage there is queued, and
//! keeps it until its last stage there has ended.
//!
//! The decision is made before a stage is queued, and again in the transaction that starts its first step. The first
//! row that applies decides:
//!
//! | Environment                                            | Decision                  |
//! |--------------------------------------------------------|---------------------------|
//! | its user may not deploy there                          | denied                    |
//! | a deployment was live that was accepted later (1)      | outdated                  |
//! | another deployment has the slot, both block each other | outdated, if it is older  |
//! | frozen                                                 | waits for the freeze's end |
//! | held by another user (1)                               | waits for the hold's end  |
//! | another deployment has the slot                        | waits for the slot        |
//! | any other                                              | begins                    |
//!
//! (1) Does not apply to a deployment that has begun to work there and still has the slot. The order does not apply
//! to one that may be older (`allowOlder`).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{DeploymentId, FreezeId, UserId};

/// The deployment of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateCandidate {
    pub deployment: DeploymentId,
    /// When it was created, or when a user retried it with `allowOlder`.
    pub accepted_at: Timestamp,
    pub allows_older: bool,
    /// The user who last retried it or, if it was not retried, created it.
    pub started_by: UserId,
}

/// A lasting environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastingEnvironment {
    /// The pipeline's definition does not let the candidate's user deploy here.
    pub is_denied: bool,
    pub slot: Option<Slot>,
    /// The latest time at which a deployment was accepted that was live here.
    pub newest_live: Option<Timestamp>,
    pub freeze: Option<Freeze>,
    pub hold: Option<Hold>,
}

/// The work slot of a lasting environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub deployment: DeploymentId,
    /// Its first step has started.
    pub has_begun: bool,
    /// The deployment waits, possibly through others, for a slot that the candidate has, and was accepted later.
    pub is_blocked_by_older: bool,
}

/// A freeze that holds now: no stage begins in the environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Freeze {
    #[serde(rename = "freezeId")]
    pub id: FreezeId,
    pub name: String,
    pub until: Timestamp,
}

/// Only deployments of its holder begin in the environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hold {
    pub by: HoldBy,
    pub reason: String,
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HoldBy {
    pub id: UserId,
    pub name: String,
}

/// Why a stage waits. Stored with the stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Blocker {
    /// Another deployment has the slot.
    WorkSlot {
        #[serde(rename = "deploymentId")]
        deployment: DeploymentId,
    },
    Freeze(Freeze),
    Hold(Hold),
    /// The pipeline's `concurrency` limit is reached. The other blockers of the stage are gone.
    Concurrency,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateDecision {
    Begin,
    /// The user who started or last retried the deployment may not deploy here, so the stage fails.
    Denied,
    /// A deployment was live that was accepted later, so the stage is skipped.
    Outdated,
    Wait(Blocker),
}

impl Blocker {
    /// Returns when it ends by itself.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::WorkSlot { .. } | Self::Concurrency => None,
            Self::Freeze(freeze) => Some(freeze.until),
            Self::Hold(hold) => Some(hold.until),
        }
    }
}

/// Decides whether a stage of the candidate may begin in the environment.
pub fn decide(candidate: GateCandidate, environment: &LastingEnvironment, now: Timestamp) -> GateDecision {
    if environment.is_denied {
        return GateDecision::Denied;
    }
    let own = environment.slot.filter(|slot| slot.deployment == candidate.deployment);
    let other = environment.slot.filter(|slot| slot.deployment != candidate.deployment);
    let has_begun = own.is_some_and(|slot| slot.has_begun);
    let is_older = environment.newest_live.is_some_and(|newest| candidate.accepted_at < newest);
    if is_older && !candidate.allows_older && !has_begun {
        return GateDecision::Outdated;
    }
    if other.is_some_and(|slot| slot.is_blocked_by_older) {
        return GateDecision::Outdated;
    }
    if let Some(freeze) = environment.freeze.as_ref().filter(|freeze| freeze.until > now) {
        return GateDecision::Wait(Blocker::Freeze(freeze.clone()));
    }
    let hold = environment.hold.as_ref().filter(|hold| hold.until > now);
    if let Some(hold) = hold.filter(|hold| hold.by.id != candidate.started_by)
        && !has_begun
    {
        return GateDecision::Wait(Blocker::Hold(hold.clone()));
    }
    match other {
        Some(slot) => GateDecision::Wait(Blocker::WorkSlot { deployment: slot.deployment }),
        None => GateDecision::Begin,
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
