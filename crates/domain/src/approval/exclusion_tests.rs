use uuid::Uuid;

use super::*;

fn user(number: u128) -> UserId {
    UserId::from(Uuid::from_u128(number))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn started_by(actor: Actor) -> Behind {
    Behind {
        started_by: actor,
        retried_by: Vec::new(),
        session_holder: None,
        pusher: None,
        on_behalf_of: None,
        authors: Vec::new(),
        created_at: at(200),
        accepted_at: at(300),
        last_success: Some(at(100)),
    }
}

#[test]
fn everybody_behind_a_deployment_is_excluded_for_the_first_reason() {
    let behind = Behind {
        retried_by: vec![Actor::Person(user(1)), Actor::Person(user(2)), Actor::Machine(user(9))],
        session_holder: Some(Actor::Person(user(3))),
        pusher: Some(user(4)),
        on_behalf_of: Some(user(5)),
        authors: vec![Actor::Person(user(2)), Actor::Person(user(6))],
        ..started_by(Actor::Person(user(1)))
    };
    let expected = [
        (user(1), Because::Started),
        (user(2), Because::Retried),
        (user(3), Because::HoldsSession),
        (user(4), Because::Pushed),
        (user(5), Because::OnBehalfOf),
        (user(6), Because::Authored),
    ];
    let found = excluded(&behind, false);
    assert_eq!((&found.people, found.extra), (&BTreeMap::from(expected), 0));
    // Who may approve it does not have people approve who were made up for it.
    let own = excluded(&behind, true);
    assert_eq!((own.people.len(), own.extra), (0, 0));
    for newcomers in [found.newcomers.unwrap(), own.newcomers.unwrap()] {
        assert_eq!(newcomers.behind, expected.iter().map(|(id, _)| *id).collect());
        assert_eq!((newcomers.accepted_at, newcomers.since), (at(300), at(100)));
    }
}

#[test]
fn admissions_count_since_the_last_success_before_the_deployment() {
    let since = |last_success| {
        let behind = Behind { last_success, ..started_by(Actor::Person(user(1))) };
        excluded(&behind, false).newcomers.unwrap().since
    };
    assert_eq!(since(None), at(200));
    assert_eq!(since(Some(at(100))), at(100));
    assert_eq!(since(Some(at(250))), at(200));
}

#[test]
fn an_unknown_person_behind_a_machine_costs_one_more_approval() {
    let machine = started_by(Actor::Machine(user(9)));
    let extra = |behind: &Behind| {
        let found = excluded(behind, false);
        (found.extra, found.people.len())
    };
    assert_eq!(extra(&machine), (1, 0));
    // A claim of the machine adds a person who may not approve, and nothing else.
    assert_eq!(extra(&Behind { on_behalf_of: Some(user(1)), ..machine.clone() }), (1, 1));
    assert_eq!(extra(&Behind { retried_by: vec![Actor::Person(user(1))], ..machine.clone() }), (1, 1));
    let held = |actor| Behind { session_holder: Some(actor), ..machine.clone() };
    assert_eq!(extra(&held(Actor::Person(user(1)))), (0, 1));
    assert_eq!(extra(&held(Actor::Machine(user(9)))), (1, 0));
    assert_eq!(extra(&Behind { pusher: Some(user(1)), ..machine }), (0, 1));
}

#[test]
fn an_unknown_author_costs_one_more_approval() {
    let person = started_by(Actor::Person(user(1)));
    let authored =
        |authors: &[Actor]| excluded(&Behind { authors: authors.to_vec(), ..person.clone() }, false);
    assert_eq!(authored(&[Actor::Person(user(2))]).extra, 0);
    let machine = authored(&[Actor::Person(user(2)), Actor::Machine(user(9))]);
    assert_eq!((machine.extra, machine.people.len()), (1, 2));
}
