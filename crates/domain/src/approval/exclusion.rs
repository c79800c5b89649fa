//! Who may not approve a deployment, because they are behind it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::newcomer::Newcomers;
use crate::id::UserId;
use crate::text_enum::text_enum;

/// Who acted: a person, or a service account that acts for an unknown person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    Person(UserId),
    Machine(UserId),
}

/// Everything that is stored about who is behind a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    pub started_by: Actor,
    pub retried_by: Vec<Actor>,
    /// The holder of its session.
    pub session_holder: Option<Actor>,
    /// The person who pushed the commit. Only an identity that an admin has confirmed makes one of a login.
    pub pusher: Option<UserId>,
    /// The person whom the service account named. It is a claim of that account, so it only adds to those who may not
    /// approve.
    pub on_behalf_of: Option<UserId>,
    /// Who saved the versions of the definition with which the stage has not succeeded in the environment yet.
    pub authors: Vec<Actor>,
    pub created_at: Timestamp,
    /// When the deployment was created, or retried as a rollback.
    pub accepted_at: Timestamp,
    /// When the stage last succeeded in the environment.
    pub last_success: Option<Timestamp>,
}

/// Why a person may not approve. The first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Because {
    Started,
    Retried,
    HoldsSession,
    Pushed,
    OnBehalfOf,
    Authored,
}

text_enum!(Because {
    Started = "started",
    Retried = "retried",
    HoldsSession = "holds_session",
    Pushed = "pushed",
    OnBehalfOf = "on_behalf_of",
    Authored = "authored",
});

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excluded {
    pub people: BTreeMap<UserId, Because>,
    /// How many approvals are needed besides those of the rules.
    pub extra: u32,
    /// Whose votes do not count although they are not behind the deployment; `None` if there is no deployment yet.
    pub newcomers: Option<Newcomers>,
}

/// Returns who may not approve, and how many more approvals are needed.
///
/// If a machine started the deployment and neither the session's holder nor the pusher is a known person, the person
/// behind it could be any approver. So one more approval is needed. `on_behalf_of` and a later retry by a person do not
/// change that. The same holds for a machine that has saved a version of the definition.
///
/// With `self_approval`, those behind the deployment may approve it; people whom they have admitted may not.
pub fn excluded(behind: &Behind, self_approval: bool) -> Excluded {
    let Behind { started_by, retried_by, session_holder, pusher, on_behalf_of, authors, .. } = behind;
    let person = |actor: &Actor| match actor {
        Actor::Person(id) => Some(*id),
        Actor::Machine(_) => None,
    };
    let holder = session_holder.as_ref().and_then(person);
    let is_unknown = (person(started_by).is_none() && holder.is_none() && pusher.is_none())
        || authors.iter().any(|author| person(author).is_none());
    let reasons = person(started_by)
        .map(|id| (id, Because::Started))
        .into_iter()
        .chain(retried_by.iter().filter_map(person).map(|id| (id, Because::Retried)))
        .chain(holder.map(|id| (id, Because::HoldsSession)))
        .chain(pusher.map(|id| (id, Because::Pushed)))
        .chain(on_behalf_of.map(|id| (id, Because::OnBehalfOf)))
        .chain(authors.iter().filter_map(person).map(|id| (id, Because::Authored)));
    let mut people = BTreeMap::new();
    for (id, because) in reasons {
        people.entry(id).or_insert(because);
    }
    let newcomers = Newcomers {
        accepted_at: behind.accepted_at,
        since: behind.last_success.unwrap_or(behind.created_at).min(behind.created_at),
        behind: people.keys().copied().collect::<BTreeSet<_>>(),
    };
    if self_approval {
        people.clear();
    }
    Excluded { people, extra: u32::from(is_unknown), newcomers: Some(newcomers) }
}

#[cfg(test)]
#[path = "exclusion_tests.rs"]
mod tests;
