//! Whose votes do not count, because a person behind the deployment could have made the voter up: an admin who adds a member,
//! enrolls that member with a sign-in link, and uses the link.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::confirmation::{Admission, AdmissionKind, Confirmation};
use super::voter::Person;
use crate::definition::ApprovalRule;
use crate::id::UserId;
use crate::text_enum::text_enum;

/// Why the vote of an unconfirmed person does not count. The first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Newcomer {
    /// Became a member after the deployment was created.
    Joined,
    /// Was added to the organization, enrolled with a link, given the role, or put into the group by a person behind the
    /// deployment since the last success.
    Added,
    Enrolled,
    RoleGiven,
    Grouped,
}

text_enum!(Newcomer {
    Joined = "joined_later",
    Added = "added",
    Enrolled = "enrolled",
    RoleGiven = "role_given",
    Grouped = "grouped",
});

/// What the confirmation of voters is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newcomers {
    /// When the deployment was accepted.
    pub accepted_at: Timestamp,
    /// When the stage last succeeded in the environment before the deployment was created. If it never did, when the
    /// deployment was created.
    pub since: Timestamp,
    /// Everyone behind the deployment, also if the definition permits self-approval.
    pub behind: BTreeSet<UserId>,
}

impl Newcomers {
    /// Returns why the votes of a person do not count; `None` if they do. A role or a group matters only if a rule names it.
    pub fn reason(&self, rules: &[ApprovalRule], person: &Person) -> Option<Newcomer> {
        let Confirmation::Unconfirmed { member_since, admissions } = &person.confirmation else {
            return None;
        };
        if *member_since >= self.accepted_at {
            return Some(Newcomer::Joined);
        }
        admissions
            .iter()
            .filter(|admission| admission.at >= self.since && self.behind.contains(&admission.by))
            .find_map(|admission| admission.reason(rules, person))
    }
}

impl Admission {
    fn reason(&self, rules: &[ApprovalRule], person: &Person) -> Option<Newcomer> {
        let (reason, matters) = match &self.kind {
            AdmissionKind::Membership => (Newcomer::Added, true),
            AdmissionKind::SignInLink => (Newcomer::Enrolled, true),
            AdmissionKind::Role => {
                let names_role =
                    |rule: &ApprovalRule| person.role.is_some_and(|role| rule.roles.contains(&role));
                (Newcomer::RoleGiven, rules.iter().any(names_role))
            }
            AdmissionKind::Group(name) => {
                (Newcomer::Grouped, rules.iter().any(|rule| rule.groups.contains(name)))
            }
        };
        matters.then_some(reason)
    }
}

#[cfg(test)]
#[path = "newcomer_tests.rs"]
mod tests;
