//! How much of the server each party uses.

use greenroom_app::internals::Counts;
use greenroom_app::limits::{Kind, Party, PartyLimit};
use uuid::Uuid;

#[test]
fn all_or_none_are_counted_and_no_entry_remains() {
    let counts = Counts::default();
    let (one, other) = (Party::Token(Uuid::from_u128(1)), Party::Token(Uuid::from_u128(2)));
    let organization = Party::Organization(Uuid::from_u128(3));
    let quota = |party, limit| Some(PartyLimit { party, limit });
    let count =
        |token, limit| counts.count(Kind::Streams, [quota(token, limit), None, quota(organization, 2)]);
    let first = count(one, 1).unwrap();
    assert_eq!(count(one, 1).err(), quota(one, 1));
    let second = count(other, 1).unwrap();
    assert_eq!(count(Party::Token(Uuid::from_u128(4)), 1).err(), quota(organization, 2));
    // Another kind is counted separately, and a limit of 0 is off.
    drop(counts.count(Kind::Polls, [quota(one, 1), None, quota(organization, 1)]).unwrap());
    drop(counts.count(Kind::Streams, [quota(one, 0), None, None]).unwrap());
    assert_eq!(counts.entry_count(), 3);
    drop(first);
    let third = count(one, 1).unwrap();
    drop((second, third));
    assert_eq!(counts.entry_count(), 0);
}

/// Tokens that are each within their limit, of a person who is at theirs.
#[test]
fn all_tokens_of_a_person_are_counted_together() {
    let counts = Counts::default();
    let person = Party::Person(Uuid::from_u128(1));
    let of_person = PartyLimit { party: person, limit: 3 };
    let organization = PartyLimit { party: Party::Organization(Uuid::from_u128(2)), limit: 4 };
    let count = |token: u128, person: Option<PartyLimit>| {
        let token = PartyLimit { party: Party::Token(Uuid::from_u128(token)), limit: 2 };
        counts.count(Kind::Requests, [Some(token), person, Some(organization)])
    };
    let mut counted: Vec<_> = (10..13).map(|token| count(token, Some(of_person)).unwrap()).collect();
    assert_eq!(count(13, Some(of_person)).err(), Some(of_person));
    // The refused request was counted for no party: the organization has room for another person's.
    counted.push(count(14, None).unwrap());
    assert_eq!(count(15, None).err(), Some(organization));
    drop(counted);
    assert_eq!(counts.entry_count(), 0);
}
