//! What the votes of an approval decide.

use std::collections::BTreeMap;

use super::exclusion::Excluded;
use super::voter::Person;
use crate::definition::ApprovalRule;
use crate::digest::SubjectDigest;
use crate::id::UserId;
use crate::matching::assign;
use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteChoice {
    Approve,
    Reject,
}

text_enum!(VoteChoice { Approve = "approve", Reject = "reject" });

/// A vote. Its voter is read again for each decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    pub voter: Person,
    pub choice: VoteChoice,
    /// What the voter has read.
    pub subject_digest: SubjectDigest,
    pub is_withdrawn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `have` of the `needed` approvals are there.
    Open {
        needed: u32,
        have: u32,
    },
    Approved,
    Rejected {
        by: UserId,
    },
}

/// Decides by the votes for a subject, the oldest first.
///
/// A vote counts if it is for this subject, is the last one of its user, is not withdrawn, and its user is not excluded,
/// fits a rule now and is no newcomer. One rejection rejects. Approved means that all rules are met, and `extra` more
/// people who fit any rule have approved, where each person counts once.
pub fn decide(
    rules: &[ApprovalRule],
    votes: &[Vote],
    excluded: &Excluded,
    subject: &SubjectDigest,
) -> Decision {
    let mut last: BTreeMap<UserId, &Vote> = BTreeMap::new();
    for vote in votes {
        last.insert(vote.voter.id, vote);
    }
    let counts = |vote: &&Vote| {
        !vote.is_withdrawn && vote.subject_digest == *subject && is_eligible(rules, excluded, &vote.voter)
    };
    let voters = |choice: VoteChoice| {
        last.values()
            .copied()
            .filter(counts)
            .filter(move |vote| vote.choice == choice)
            .map(|vote| &vote.voter)
    };
    if let Some(voter) = voters(VoteChoice::Reject).next() {
        return Decision::Rejected { by: voter.id };
    }
    let approving: Vec<&Person> = voters(VoteChoice::Approve).collect();
    let (needed, have) = (needed(rules, excluded), filled(rules, excluded, &approving));
    if have >= needed { Decision::Approved } else { Decision::Open { needed, have } }
}

/// How an approval could still be decided, from all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prospect {
    pub needed: u32,
    /// How many people may approve.
    pub eligible: u32,
    /// Whether they can meet all rules.
    pub is_satisfiable: bool,
}

/// Returns how an approval could be decided if all members voted for it.
pub fn prospect(rules: &[ApprovalRule], excluded: &Excluded, members: &[Person]) -> Prospect {
    let eligible: Vec<&Person> =
        members.iter().filter(|person| is_eligible(rules, excluded, person)).collect();
    let needed = needed(rules, excluded);
    Prospect {
        needed,
        eligible: u32::try_from(eligible.len()).unwrap_or(u32::MAX),
        is_satisfiable: filled(rules, excluded, &eligible) >= needed,
    }
}

/// Returns whether a vote of this person counts.
fn is_eligible(rules: &[ApprovalRule], excluded: &Excluded, person: &Person) -> bool {
    !excluded.people.contains_key(&person.id)
        && fits_any(rules, person)
        && excluded.newcomers.as_ref().is_none_or(|newcomers| newcomers.reason(rules, person).is_none())
}

pub(super) fn fits_any(rules: &[ApprovalRule], person: &Person) -> bool {
    rules.iter().any(|rule| person.fits(rule))
}

/// At least one, so that an approval without rules is never met.
fn needed(rules: &[ApprovalRule], excluded: &Excluded) -> u32 {
    rules.iter().map(|rule| rule.count).fold(excluded.extra, u32::saturating_add).max(1)
}

/// Returns how many of the needed approvals these people can give. The last demand is that of `extra`, which any of them
/// meets.
fn filled(rules: &[ApprovalRule], excluded: &Excluded, people: &[&Person]) -> u32 {
    let counts: Vec<u32> = rules.iter().map(|rule| rule.count).chain([excluded.extra]).collect();
    let fits = |demand: usize, person: usize| match rules.get(demand) {
        Some(rule) => people.get(person).is_some_and(|person| person.fits(rule)),
        None => true,
    };
    let assigned = assign(&counts, people.len(), &fits);
    u32::try_from(assigned.iter().flatten().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
