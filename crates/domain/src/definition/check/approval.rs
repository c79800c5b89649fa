//! Approvals.

use super::Check;
use super::fields::{LINE, PARAGRAPH};
use crate::definition::diagnostic::Path;
use crate::definition::limits;
use crate::definition::located::{Located, Position};
use crate::definition::model::Approval;
use crate::definition::raw;
use crate::role::Role;

/// The maximum length of an e-mail address; an id is shorter.
const MAX_USER_LENGTH: usize = 254;

impl Check<'_> {
    pub(super) fn approval(&mut self, path: Path<'_>, approval: &Located<raw::Approval>) -> Approval {
        let raw = &approval.value;
        let roles = raw.roles.as_deref().unwrap_or_default();
        let users = raw.users.as_deref().unwrap_or_default();
        let count_path = path.key("count");
        let count = raw.count.as_ref().map_or(1, |count| self.number(count_path, count, limits::APPROVALS));
        if roles.is_empty() && users.is_empty() {
            self.report.error(approval.at, path, "an approval must name at least one of `roles` or `users`");
        } else if let Some(written) =
            raw.count.as_ref().filter(|_| roles.is_empty() && users.len() < count as usize)
        {
            let message = format!("`count` requires {count} approvals, but only {} may approve", users.len());
            self.report.error(written.at, count_path, message);
        }
        let timeout_path = path.key("timeout");
        let timeout = raw.timeout.as_ref();
        Approval {
            roles: self.approving_roles(path.key("roles"), roles),
            users: self.approving_users(path.key("users"), users),
            count,
            timeout_seconds: timeout
                .map(|timeout| self.duration(timeout_path, timeout, limits::MAX_APPROVAL_SECONDS)),
            message: raw.message.as_ref().map(|message| self.text(path.key("message"), message, PARAGRAPH)),
        }
    }

    fn approving_roles(&mut self, path: Path<'_>, roles: &[Located<String>]) -> Vec<Role> {
        self.unique(path, roles);
        roles.iter().enumerate().filter_map(|(index, role)| self.role(path.index(index), role)).collect()
    }

    fn approving_users(&mut self, path: Path<'_>, users: &[Located<String>]) -> Vec<String> {
        let at = users.get(limits::APPROVERS).map_or(Position::START, |user| user.at);
        if !self.fits(at, path, users.len(), limits::APPROVERS) {
            return Vec::new();
        }
        self.unique(path, users);
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
}
