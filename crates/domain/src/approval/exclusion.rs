//! Who may not approve a deployment, because they are behind it.

use std::collections::BTreeMap;

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
}

/// Why a person may not approve. The first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Because {
    Started,
    Retried,
    HoldsSession,
    Pushed,
    OnBehalfOf,
}

text_enum!(Because {
    Started = "started",
    Retried = "retried",
    HoldsSession = "holds_session",
    Pushed = "pushed",
    OnBehalfOf = "on_behalf_of",
});

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excluded {
    pub people: BTreeMap<UserId, Because>,
    /// How many approvals are needed besides those of the rules.
    pub extra: u32,
}

/// Returns who may not approve, and how many more approvals are needed.
///
/// If a machine started the deployment and neither the session's holder nor the pusher is a known person, the person
/// behind it could be any approver. So one more approval is needed. `on_behalf_of` and a later retry by a person do not
/// change that.
pub fn excluded(behind: &Behind, self_approval: bool) -> Excluded {
    let Behind { started_by, retried_by, session_holder, pusher, on_behalf_of } = behind;
    let person = |actor: &Actor| match actor {
        Actor::Person(id) => Some(*id),
        Actor::Machine(_) => None,
    };
    let holder = session_holder.as_ref().and_then(person);
    let is_unknown = person(started_by).is_none() && holder.is_none() && pusher.is_none();
    let mut people = BTreeMap::new();
    if !self_approval {
        let reasons = person(started_by)
            .map(|id| (id, Because::Started))
            .into_iter()
            .chain(retried_by.iter().filter_map(person).map(|id| (id, Because::Retried)))
            .chain(holder.map(|id| (id, Because::HoldsSession)))
            .chain(pusher.map(|id| (id, Because::Pushed)))
            .chain(on_behalf_of.map(|id| (id, Because::OnBehalfOf)));
        for (id, because) in reasons {
            people.entry(id).or_insert(because);
        }
    }
    Excluded { people, extra: u32::from(is_unknown) }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn user(number: u128) -> UserId {
        UserId::from(Uuid::from_u128(number))
    }

    #[test]
    fn everybody_behind_a_deployment_is_excluded_for_the_first_reason() {
        let behind = Behind {
            started_by: Actor::Person(user(1)),
            retried_by: vec![Actor::Person(user(1)), Actor::Person(user(2)), Actor::Machine(user(9))],
            session_holder: Some(Actor::Person(user(3))),
            pusher: Some(user(4)),
            on_behalf_of: Some(user(5)),
        };
        let expected = [
            (user(1), Because::Started),
            (user(2), Because::Retried),
            (user(3), Because::HoldsSession),
            (user(4), Because::Pushed),
            (user(5), Because::OnBehalfOf),
        ];
        let found = excluded(&behind, false);
        assert_eq!(found, Excluded { people: BTreeMap::from(expected), extra: 0 });
        assert_eq!(excluded(&behind, true), Excluded::default());
    }

    #[test]
    fn an_unknown_person_behind_a_machine_costs_one_more_approval() {
        let machine = Behind {
            started_by: Actor::Machine(user(9)),
            retried_by: Vec::new(),
            session_holder: None,
            pusher: None,
            on_behalf_of: None,
        };
        let extra = |behind: &Behind| (excluded(behind, false).extra, excluded(behind, true).extra);
        assert_eq!(extra(&machine), (1, 1));
        assert_eq!(extra(&Behind { on_behalf_of: Some(user(1)), ..machine.clone() }), (1, 1));
        assert_eq!(extra(&Behind { retried_by: vec![Actor::Person(user(1))], ..machine.clone() }), (1, 1));
        let held = |actor| Behind { session_holder: Some(actor), ..machine.clone() };
        assert_eq!(extra(&held(Actor::Machine(user(9)))), (1, 1));
        assert_eq!(extra(&held(Actor::Person(user(1)))), (0, 0));
        assert_eq!(extra(&Behind { pusher: Some(user(1)), ..machine }), (0, 0));
    }
}
