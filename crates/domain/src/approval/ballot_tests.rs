use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use uuid::Uuid;

use super::*;
use crate::approval::confirmation::Confirmation;
use crate::approval::machine::ApprovalCommand;
use crate::approval::newcomer::Newcomers;
use crate::id::UserId;
use crate::role::Role;

#[test]
fn the_first_reason_against_a_vote_is_returned() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let user = |number| UserId::from(Uuid::from_u128(number));
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64)).parse::<SubjectDigest>().unwrap();
    let (same, other) = (digest("a"), digest("b"));
    let timeout = SignedDuration::from_secs(100);
    let open = Approval::open(same.clone(), timeout, timeout, at(0));
    let mut canceled = open.clone();
    canceled.apply(&ApprovalCommand::Cancel, at(1));
    let rules =
        [ApprovalRule { groups: vec!["release".to_owned()], roles: Vec::new(), users: Vec::new(), count: 1 }];
    let newcomers = Newcomers { accepted_at: at(0), since: at(0), behind: BTreeSet::from([user(9)]) };
    let excluded = Excluded {
        people: BTreeMap::from([(user(9), Because::Pushed)]),
        extra: 0,
        newcomers: Some(newcomers),
    };
    let member = Person {
        id: user(1),
        email: None,
        role: Some(Role::Viewer),
        groups: BTreeSet::from(["release".to_owned()]),
        is_service: false,
        confirmation: Confirmation::Confirmed,
    };
    let service = Person { is_service: true, ..member.clone() };
    let own = Person { id: user(9), ..member.clone() };
    let stranger = Person { groups: BTreeSet::new(), ..member.clone() };
    let late = Confirmation::Unconfirmed { member_since: at(1), admissions: Vec::new() };
    let newcomer = Person { confirmation: late.clone(), ..member.clone() };
    let unnamed = Person { confirmation: late, ..stranger.clone() };
    let removed = Person { role: None, ..member.clone() };
    let vote = |approval: &Approval, voter: &Person, token, subject, now| {
        check_vote(approval, &rules, &excluded, Ballot { voter, token, subject }, now)
    };
    use TokenKind::{Agent, Ci, User};
    use VoteRejected::{Changed, Decided, NeedsPerson, NotCounted, NotYours, Own};
    for (approval, voter, token, subject, now, expected) in [
        (&open, &member, User, Some(&same), at(99), Ok(())),
        (&open, &member, User, None, at(99), Ok(())),
        (&open, &member, Ci, Some(&same), at(1), Err(NeedsPerson)),
        (&open, &member, Agent, Some(&same), at(1), Err(NeedsPerson)),
        (&open, &service, User, Some(&same), at(1), Err(NeedsPerson)),
        (&canceled, &member, User, Some(&same), at(1), Err(Decided(ApprovalStatus::Canceled))),
        (&open, &member, User, Some(&same), at(100), Err(Decided(ApprovalStatus::Expired))),
        (&open, &own, User, Some(&same), at(1), Err(Own(Because::Pushed))),
        (&open, &stranger, User, Some(&same), at(1), Err(NotYours)),
        (&open, &removed, User, Some(&same), at(1), Err(NotYours)),
        (&open, &newcomer, User, Some(&same), at(1), Err(NotCounted(Newcomer::Joined))),
        (&open, &unnamed, User, Some(&same), at(1), Err(NotYours)),
        // Those who may not vote do not learn whether the digest is right.
        (&open, &stranger, User, Some(&other), at(1), Err(NotYours)),
        (&open, &newcomer, User, Some(&other), at(1), Err(NotCounted(Newcomer::Joined))),
        (&open, &member, User, Some(&other), at(1), Err(Changed)),
    ] {
        assert_eq!(vote(approval, voter, token, subject, now), expected, "{voter:?} {token:?}");
    }
}
