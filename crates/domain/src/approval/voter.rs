//! Whether a rule admits a person.

use std::collections::BTreeSet;

use super::confirmation::Confirmation;
use crate::definition::ApprovalRule;
use crate::id::UserId;
use crate::role::Role;

/// A user of the organization, as it is when the decision is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub id: UserId,
    pub email: Option<String>,
    /// The role in the organization; `None` if the user is no member any more.
    pub role: Option<Role>,
    /// The names of the groups that the user is in.
    pub groups: BTreeSet<String>,
    /// A service account, which never approves.
    pub is_service: bool,
    pub confirmation: Confirmation,
}

impl Person {
    /// Returns whether the user may vote for this rule.
    pub fn fits(&self, rule: &ApprovalRule) -> bool {
        let ApprovalRule { groups, roles, users, count: _ } = rule;
        let Some(role) = self.role.filter(|_| !self.is_service) else { return false };
        groups.iter().any(|group| self.groups.contains(group))
            || roles.contains(&role)
            || users.iter().any(|user| self.is_named(user))
    }

    /// By e-mail address, in which case does not matter, or by id.
    fn is_named(&self, user: &str) -> bool {
        self.email.as_deref().is_some_and(|email| email.eq_ignore_ascii_case(user))
            || self.id.to_string() == user
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_rule_admits_members_by_group_role_address_or_id() {
        let id = UserId::from(Uuid::from_u128(7));
        let person = Person {
            id,
            email: Some("Ada@Example.test".to_owned()),
            role: Some(Role::Maintainer),
            groups: BTreeSet::from(["security".to_owned()]),
            is_service: false,
            confirmation: Confirmation::Confirmed,
        };
        let rule = |groups: &[&str], roles: &[Role], users: &[&str]| ApprovalRule {
            groups: groups.iter().map(|name| (*name).to_owned()).collect(),
            roles: roles.to_vec(),
            users: users.iter().map(|name| (*name).to_owned()).collect(),
            count: 1,
        };
        let by_id = id.to_string();
        let admitting = [
            rule(&["release", "security"], &[], &[]),
            rule(&[], &[Role::Maintainer], &[]),
            rule(&[], &[], &["ada@example.test"]),
            rule(&["release"], &[Role::Owner], &[&by_id]),
        ];
        for rule in &admitting {
            assert!(person.fits(rule), "{rule:?}");
            assert!(!Person { role: None, ..person.clone() }.fits(rule), "no member: {rule:?}");
            assert!(!Person { is_service: true, ..person.clone() }.fits(rule), "a service: {rule:?}");
        }
        // A role that is listed does not include the roles above it.
        for rule in
            [rule(&["release"], &[Role::Developer, Role::Admin], &["bob@example.test"]), rule(&[], &[], &[])]
        {
            assert!(!person.fits(&rule), "{rule:?}");
        }
    }
}
