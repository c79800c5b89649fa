use uuid::Uuid;

use super::*;
use crate::role::Role;

const BEHIND: u128 = 1;
const OTHER: u128 = 2;

fn user(number: u128) -> UserId {
    UserId::from(Uuid::from_u128(number))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The stage last succeeded at 100, and the deployment was accepted at 200.
fn newcomers() -> Newcomers {
    Newcomers { accepted_at: at(200), since: at(100), behind: BTreeSet::from([user(BEHIND)]) }
}

fn rules() -> Vec<ApprovalRule> {
    vec![ApprovalRule {
        groups: vec!["release".to_owned()],
        roles: vec![Role::Maintainer],
        users: Vec::new(),
        count: 1,
    }]
}

fn person(role: Role, confirmation: Confirmation) -> Person {
    Person {
        id: user(9),
        email: None,
        role: Some(role),
        groups: BTreeSet::from(["release".to_owned()]),
        is_service: false,
        confirmation,
    }
}

fn reason(role: Role, member_since: i64, admissions: &[(AdmissionKind, u128, i64)]) -> Option<Newcomer> {
    let admissions = admissions.iter().map(|(kind, by, second)| Admission {
        kind: kind.clone(),
        by: user(*by),
        at: at(*second),
    });
    let confirmation =
        Confirmation::Unconfirmed { member_since: at(member_since), admissions: admissions.collect() };
    newcomers().reason(&rules(), &person(role, confirmation))
}

#[test]
fn a_vote_counts_of_confirmed_people_and_of_earlier_members() {
    assert_eq!(newcomers().reason(&rules(), &person(Role::Viewer, Confirmation::Confirmed)), None);
    assert_eq!(reason(Role::Viewer, 199, &[]), None);
    for later in [200, 201] {
        assert_eq!(reason(Role::Viewer, later, &[]), Some(Newcomer::Joined));
    }
}

#[test]
fn votes_of_people_admitted_by_those_behind_the_deployment_do_not_count() {
    use AdmissionKind::{Group, Membership, Role as Given, SignInLink};
    let group = |name: &str| Group(name.to_owned());
    for (kind, role, expected) in [
        (Membership, Role::Viewer, Some(Newcomer::Added)),
        (SignInLink, Role::Viewer, Some(Newcomer::Enrolled)),
        (Given, Role::Maintainer, Some(Newcomer::RoleGiven)),
        (group("release"), Role::Viewer, Some(Newcomer::Grouped)),
        // What no rule names does not matter.
        (Given, Role::Viewer, None),
        (group("other"), Role::Viewer, None),
    ] {
        for (second, counts) in [(99, true), (100, false), (150, false), (250, false)] {
            let expected = if counts { None } else { expected };
            assert_eq!(reason(role, 50, &[(kind.clone(), BEHIND, second)]), expected, "{kind:?} {second}");
            assert_eq!(reason(role, 50, &[(kind.clone(), OTHER, second)]), None, "{kind:?} {second}");
        }
    }
    // One of several is enough.
    let both = [(Membership, OTHER, 150), (group("release"), BEHIND, 150)];
    assert_eq!(reason(Role::Viewer, 50, &both), Some(Newcomer::Grouped));
}
