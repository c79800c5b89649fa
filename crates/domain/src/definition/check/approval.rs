//! Approvals.

use super::Check;
use super::fields::{LINE, PARAGRAPH};
use crate::definition::diagnostic::{Diagnostic, Path, quote};
use crate::definition::limits;
use crate::definition::located::{Located, Position};
use crate::definition::model::{Approval, ApprovalRule, ApprovalRules, OverrideRole};
use crate::definition::raw;
use crate::matching;
use crate::role::Role;

/// The maximum length of an e-mail address; an id is shorter.
const MAX_USER_LENGTH: usize = 254;

/// A rule as written: in a list, or directly in the approval.
#[derive(Clone, Copy)]
struct WrittenRule<'a> {
    at: Position,
    groups: &'a [Located<String>],
    users: &'a [Located<String>],
    roles: &'a [Located<String>],
    count: Option<&'a Located<u64>>,
}

impl<'a> WrittenRule<'a> {
    fn single(approval: &'a Located<raw::Approval>) -> Self {
        let raw::Approval { groups, users, roles, count, .. } = &approval.value;
        Self {
            at: approval.at,
            groups: groups.as_deref().unwrap_or_default(),
            users: users.as_deref().unwrap_or_default(),
            roles: roles.as_deref().unwrap_or_default(),
            count: count.as_ref(),
        }
    }

    fn listed(rule: &'a Located<raw::ApprovalRule>) -> Self {
        let raw::ApprovalRule { groups, users, roles, count } = &rule.value;
        Self {
            at: rule.at,
            groups: groups.as_deref().unwrap_or_default(),
            users: users.as_deref().unwrap_or_default(),
            roles: roles.as_deref().unwrap_or_default(),
            count: count.as_ref(),
        }
    }
}

impl Check<'_> {
    pub(super) fn approval(&mut self, path: Path<'_>, approval: &Located<raw::Approval>) -> Approval {
        let raw = &approval.value;
        let seconds = |check: &mut Self, field: &str, duration: &Option<Located<String>>| {
            let path = path.key(field);
            duration.as_ref().map(|text| check.duration(path, text, limits::MAX_APPROVAL_SECONDS))
        };
        Approval {
            rules: self.approval_rules(path, approval),
            timeout_seconds: seconds(self, "timeout", &raw.timeout),
            valid_for_seconds: seconds(self, "validFor", &raw.valid_for),
            self_approval: raw
                .self_approval
                .as_ref()
                .is_some_and(|value| self.report.is_true(path.key("selfApproval"), value)),
            override_role: raw
                .override_by
                .as_ref()
                .map(|role| self.override_role(path.key("override"), role))
                .unwrap_or_default(),
            message: raw.message.as_ref().map(|message| self.text(path.key("message"), message, PARAGRAPH)),
        }
    }

    fn approval_rules(&mut self, path: Path<'_>, approval: &Located<raw::Approval>) -> ApprovalRules {
        let raw = &approval.value;
        let Some(rules) = &raw.rules else {
            return ApprovalRules::Single(self.approval_rule(path, WrittenRule::single(approval)));
        };
        let path = path.key("rules");
        if raw.groups.is_some() || raw.users.is_some() || raw.roles.is_some() || raw.count.is_some() {
            let message =
                "an approval with `rules` has its `groups`, `users`, `roles` and `count` in the rules";
            self.report.error(rules.at, path, message);
        }
        if rules.value.is_empty() {
            self.report.error(rules.at, path, "must have at least one rule");
        }
        if !self.fits(rules.at, path, rules.value.len(), limits::APPROVAL_RULES) {
            return ApprovalRules::List { rules: Vec::new() };
        }
        let checked = rules.value.iter().enumerate();
        let checked: Vec<ApprovalRule> = checked
            .map(|(index, rule)| self.approval_rule(path.index(index), WrittenRule::listed(rule)))
            .collect();
        if !can_be_met(&checked) {
            let message = "not all of these rules can be met: each person counts for one of them only";
            self.report.error(rules.at, path, message);
        }
        ApprovalRules::List { rules: checked }
    }

    fn approval_rule(&mut self, path: Path<'_>, rule: WrittenRule<'_>) -> ApprovalRule {
        let WrittenRule { at, groups, users, roles, count } = rule;
        let count_path = path.key("count");
        let needed = count.map_or(1, |count| self.number(count_path, count, limits::APPROVALS));
        if groups.is_empty() && roles.is_empty() && users.is_empty() {
            let message = "an approval must name at least one of `groups`, `roles` or `users`";
            self.report.error(at, path, message);
        } else if let Some(written) =
            count.filter(|_| groups.is_empty() && roles.is_empty() && users.len() < needed as usize)
        {
            let message =
                format!("`count` requires {needed} approvals, but only {} may approve", users.len());
            self.report.error(written.at, count_path, message);
        }
        ApprovalRule {
            groups: self.approving_groups(path.key("groups"), groups),
            roles: self.approving_roles(path.key("roles"), roles),
            users: self.approving_users(path.key("users"), users),
            count: needed,
        }
    }

    pub(super) fn approving_groups(&mut self, path: Path<'_>, groups: &[Located<String>]) -> Vec<String> {
        if !self.approvers_fit(path, groups) {
            return Vec::new();
        }
        let names = groups.iter().enumerate();
        names.map(|(index, group)| self.name(path.index(index), group, "group name")).collect()
    }

    pub(super) fn approving_roles(&mut self, path: Path<'_>, roles: &[Located<String>]) -> Vec<Role> {
        self.unique(path, roles);
        roles.iter().enumerate().filter_map(|(index, role)| self.role(path.index(index), role)).collect()
    }

    fn approving_users(&mut self, path: Path<'_>, users: &[Located<String>]) -> Vec<String> {
        if !self.approvers_fit(path, users) {
            return Vec::new();
        }
        let checked = users.iter().enumerate().map(|(index, user)| {
            let path = path.index(index);
            if user.value.len() > MAX_USER_LENGTH || user.value.chars().any(char::is_whitespace) {
                let message = format!("{} must be an e-mail address or a user's id", path.subject());
                self.report.error(user.at, path, message);
            }
            self.text(path, user, LINE)
        });
        checked.collect()
    }

    fn approvers_fit(&mut self, path: Path<'_>, approvers: &[Located<String>]) -> bool {
        let at = approvers.get(limits::APPROVERS).map_or(Position::START, |approver| approver.at);
        let fits = self.fits(at, path, approvers.len(), limits::APPROVERS);
        if fits {
            self.unique(path, approvers);
        }
        fits
    }

    fn override_role(&mut self, path: Path<'_>, role: &Located<String>) -> OverrideRole {
        role.value.parse().unwrap_or_else(|_| {
            self.report.add(|| {
                let message = format!("{} can't be allowed to override an approval", quote(&role.value));
                let names = OverrideRole::NAMES.iter().copied();
                Diagnostic::new(role.at, path.pointer(), message).choices(&role.value, names)
            });
            OverrideRole::default()
        })
    }
}

/// Returns whether the rules that name only users can be met by different people.
fn can_be_met(rules: &[ApprovalRule]) -> bool {
    let of_users = rules.iter().filter(|rule| rule.groups.is_empty() && rule.roles.is_empty());
    // Other problems of a rule are reported already.
    let of_users: Vec<_> = of_users.filter(|rule| rule.users.len() >= rule.count as usize).collect();
    let mut users: Vec<&str> = of_users.iter().flat_map(|rule| &rule.users).map(String::as_str).collect();
    users.sort_unstable();
    users.dedup();
    let counts: Vec<u32> = of_users.iter().map(|rule| rule.count).collect();
    matching::is_fillable(&counts, users.len(), &|rule, user| {
        let named = of_users.get(rule).zip(users.get(user));
        named.is_some_and(|(rule, user)| rule.users.iter().any(|name| name == user))
    })
}
