use std::collections::BTreeSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::*;
use crate::approval::confirmation::Confirmation;
use crate::approval::exclusion::Because;
use crate::approval::newcomer::Newcomers;
use crate::role::Role;

fn user(number: u8) -> UserId {
    UserId::from(Uuid::from_u128(u128::from(number)))
}

fn person(number: u8, groups: &[&str]) -> Person {
    Person {
        id: user(number),
        email: None,
        role: Some(Role::Developer),
        groups: groups.iter().map(|name| (*name).to_owned()).collect(),
        is_service: false,
        confirmation: Confirmation::Confirmed,
    }
}

fn rule(groups: &[&str], count: u32) -> ApprovalRule {
    let groups = groups.iter().map(|name| (*name).to_owned()).collect();
    ApprovalRule { groups, roles: Vec::new(), users: Vec::new(), count }
}

fn digest(digit: &str) -> SubjectDigest {
    format!("sha256:{}", digit.repeat(64)).parse().unwrap()
}

fn vote(voter: Person, choice: VoteChoice) -> Vote {
    Vote { voter, choice, subject_digest: digest("a"), is_withdrawn: false }
}

fn approve(number: u8, groups: &[&str]) -> Vote {
    vote(person(number, groups), VoteChoice::Approve)
}

fn decide_all(rules: &[ApprovalRule], votes: &[Vote], excluded: &Excluded) -> Decision {
    decide(rules, votes, excluded, &digest("a"))
}

#[test]
fn each_person_counts_for_one_rule() {
    let rules = [rule(&["release"], 1), rule(&["security"], 1)];
    let none = Excluded::default();
    let open = |have| Decision::Open { needed: 2, have };
    let both = approve(1, &["release", "security"]);
    assert_eq!(decide_all(&rules, &[], &none), open(0));
    assert_eq!(decide_all(&rules, std::slice::from_ref(&both), &none), open(1));
    // The one who is in both groups is used where the other one is not.
    for other in ["release", "security"] {
        assert_eq!(decide_all(&rules, &[both.clone(), approve(2, &[other])], &none), Decision::Approved);
        assert_eq!(decide_all(&rules, &[approve(2, &[other]), both.clone()], &none), Decision::Approved);
    }
    assert_eq!(decide_all(&rules, &[approve(2, &["release"]), approve(3, &["release"])], &none), open(1));
}

#[test]
fn two_votes_of_one_user_count_once_and_the_last_one_counts() {
    let rules = [rule(&["release"], 2)];
    let none = Excluded::default();
    let twice = [approve(1, &["release"]), approve(1, &["release"])];
    assert_eq!(decide_all(&rules, &twice, &none), Decision::Open { needed: 2, have: 1 });
    let withdrawn = Vote { is_withdrawn: true, ..approve(1, &["release"]) };
    let votes = [approve(1, &["release"]), approve(2, &["release"]), withdrawn.clone()];
    assert_eq!(decide_all(&rules, &votes, &none), Decision::Open { needed: 2, have: 1 });
    let reject = Vote { choice: VoteChoice::Reject, ..approve(1, &["release"]) };
    assert_eq!(
        decide_all(&rules, &[reject.clone(), withdrawn], &none),
        Decision::Open { needed: 2, have: 0 }
    );
    let changed_mind = [reject, approve(1, &["release"]), approve(2, &["release"])];
    assert_eq!(decide_all(&rules, &changed_mind, &none), Decision::Approved);
}

#[test]
fn a_vote_counts_only_for_its_subject_and_of_those_who_may_vote_now() {
    let rules = [rule(&["release"], 1)];
    let at = |second| Timestamp::from_second(second).unwrap();
    let excluded = Excluded {
        people: BTreeMap::from([(user(9), Because::Started)]),
        extra: 0,
        newcomers: Some(Newcomers { accepted_at: at(9), since: at(9), behind: BTreeSet::from([user(9)]) }),
    };
    let newcomer = Confirmation::Unconfirmed { member_since: at(10), admissions: Vec::new() };
    let open = Decision::Open { needed: 1, have: 0 };
    for vote in [
        Vote { subject_digest: digest("b"), ..approve(1, &["release"]) },
        Vote { is_withdrawn: true, ..approve(1, &["release"]) },
        approve(9, &["release"]),
        approve(1, &["security"]),
        approve(1, &[]),
        vote(Person { role: None, ..person(1, &["release"]) }, VoteChoice::Approve),
        vote(Person { confirmation: newcomer, ..person(1, &["release"]) }, VoteChoice::Approve),
        vote(Person { is_service: true, ..person(1, &["release"]) }, VoteChoice::Approve),
    ] {
        assert_eq!(decide_all(&rules, std::slice::from_ref(&vote), &excluded), open, "{vote:?}");
        let reject = Vote { choice: VoteChoice::Reject, ..vote };
        assert_eq!(decide_all(&rules, &[reject], &excluded), open);
    }
    let reject = Vote { choice: VoteChoice::Reject, ..approve(2, &["release"]) };
    let votes = [approve(1, &["release"]), reject];
    assert_eq!(decide_all(&rules, &votes, &excluded), Decision::Rejected { by: user(2) });
}

#[test]
fn an_extra_approval_is_one_more_person_of_any_rule() {
    let rules = [rule(&["release"], 1), rule(&["security"], 1)];
    let extra = Excluded { extra: 1, ..Excluded::default() };
    let mut votes = vec![approve(1, &["release"]), approve(2, &["security"])];
    assert_eq!(decide_all(&rules, &votes, &extra), Decision::Open { needed: 3, have: 2 });
    votes.push(approve(3, &["sales"]));
    assert_eq!(decide_all(&rules, &votes, &extra), Decision::Open { needed: 3, have: 2 });
    votes.push(approve(4, &["security"]));
    assert_eq!(decide_all(&rules, &votes, &extra), Decision::Approved);
    assert_eq!(decide_all(&[], &votes, &Excluded::default()), Decision::Open { needed: 1, have: 0 });
}

#[test]
fn a_rule_that_too_few_can_meet_is_found_when_it_opens() {
    let members = [
        person(1, &["release", "security"]),
        person(2, &["release"]),
        person(3, &["security"]),
        person(4, &[]),
    ];
    let excluding = |numbers: &[u8], extra| Excluded {
        people: numbers.iter().map(|number| (user(*number), Because::Started)).collect(),
        extra,
        newcomers: None,
    };
    let rules = [rule(&["release"], 1), rule(&["security"], 1)];
    for (excluded, needed, eligible, is_satisfiable) in [
        (excluding(&[], 0), 2, 3, true),
        (excluding(&[], 1), 3, 3, true),
        (excluding(&[1], 0), 2, 2, true),
        (excluding(&[1], 1), 3, 2, false),
        (excluding(&[2], 0), 2, 2, true),
        (excluding(&[1, 2], 0), 2, 1, false),
        // Two people may approve, but both of them only for the first rule.
        (excluding(&[1, 2, 3], 0), 2, 0, false),
    ] {
        let expected = Prospect { needed, eligible, is_satisfiable };
        assert_eq!(prospect(&rules, &excluded, &members), expected, "{excluded:?}");
    }
    let one_sided = [person(1, &["release"]), person(2, &["release"])];
    let expected = Prospect { needed: 2, eligible: 2, is_satisfiable: false };
    assert_eq!(prospect(&rules, &Excluded::default(), &one_sided), expected);
}

/// Four people with every membership in two groups, two rules of every count, every set of approvals and exclusions:
/// the decision is that of trying every assignment of people to rules.
#[test]
fn every_small_case_is_decided_as_by_brute_force() {
    let names = ["a", "b"];
    let (mut approved, mut open) = (0, 0);
    for memberships in 0..256_u16 {
        let groups = |number: u16| (memberships >> (2 * number)) & 3;
        for counts in 0..9_u32 {
            let rules = [rule(&["a"], counts % 3), rule(&["b"], counts / 3)];
            for extra in 0..2_u32 {
                for voting in 0..16_u16 {
                    let people = BTreeMap::from([(user(0), Because::Started)]);
                    let excluded = Excluded { people, extra, newcomers: None };
                    let voters: Vec<u16> = (0..4).filter(|number| voting & (1 << number) != 0).collect();
                    let votes: Vec<Vote> = voters
                        .iter()
                        .map(|number| {
                            let of = |(place, name): (usize, &&'static str)| {
                                (groups(*number) & (1 << place) != 0).then_some(*name)
                            };
                            let groups: BTreeSet<&str> = names.iter().enumerate().filter_map(of).collect();
                            let groups: Vec<&str> = groups.into_iter().collect();
                            approve(u8::try_from(*number).unwrap(), &groups)
                        })
                        .collect();
                    let eligible: Vec<u16> =
                        voters.iter().filter(|number| **number != 0).map(|number| groups(*number)).collect();
                    let needed = counts % 3 + counts / 3 + extra;
                    let is_met = needed > 0 && can_meet(&eligible, [counts % 3, counts / 3, extra]);
                    let decision = decide_all(&rules, &votes, &excluded);
                    assert_eq!(decision == Decision::Approved, is_met, "{rules:?} {extra} {votes:?}");
                    if is_met { approved += 1 } else { open += 1 }
                }
            }
        }
    }
    assert!(approved > 5_000 && open > 5_000, "{approved} {open}");
}

/// Tries every assignment. `left` has what is needed of group a, of group b, and of either.
fn can_meet(people: &[u16], left: [u32; 3]) -> bool {
    if left == [0; 3] {
        return true;
    }
    let Some((groups, others)) = people.split_first() else { return false };
    let mut choices = vec![left];
    for (place, fits) in [groups & 1 != 0, groups & 2 != 0, groups & 3 != 0].into_iter().enumerate() {
        if fits && left[place] > 0 {
            let mut less = left;
            less[place] -= 1;
            choices.push(less);
        }
    }
    choices.into_iter().any(|left| can_meet(others, left))
}
