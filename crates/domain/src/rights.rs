//! The current rights of a session's user, from the role and the token that the deciding transaction has
//! read.

use crate::policy::{Action, is_allowed};
use crate::role::Role;

/// The token or browser session that a session was queued, or a hand-over requested, with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenState {
    /// The session was queued before sessions recorded their token.
    Unknown,
    /// Revoked, expired, signed out, or without the scope to hold sessions.
    Gone,
    Valid {
        allow_force: bool,
    },
}

/// Why a waiting session is not granted its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Barred {
    NotMember,
    Role,
    Token,
    SessionLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rights {
    /// Why the session may not hold the environment; `None` if it may.
    pub barred: Option<Barred>,
    /// Whether the session may take the environment by force.
    pub can_force: bool,
}

impl Rights {
    /// Bars a waiter whose token holds as many sessions as it may, unless another reason comes first.
    #[must_use]
    pub fn at_session_limit(self) -> Self {
        Self { barred: self.barred.or(Some(Barred::SessionLimit)), can_force: false }
    }

    /// `role` is `None` for a user who is not a member any more.
    pub fn of(role: Option<Role>, token: TokenState, force_role: Role) -> Self {
        let barred = match (role, token) {
            (None, _) => Some(Barred::NotMember),
            (Some(role), _) if !is_allowed(role, Action::SessionHold) => Some(Barred::Role),
            (_, TokenState::Gone) => Some(Barred::Token),
            _ => None,
        };
        let allow_force = matches!(token, TokenState::Valid { allow_force: true });
        Self { barred, can_force: barred.is_none() && allow_force && role >= Some(force_role) }
    }
}

impl Barred {
    /// Returns the reason that the event of the skipped session contains.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotMember => "its turn came, and its user is no longer a member",
            Self::Role => "its turn came, and its user's role may no longer hold sessions",
            Self::Token => "its turn came, and its token was revoked, has expired or may not hold sessions",
            Self::SessionLimit => "its turn came, and its token holds as many sessions as it may",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_by_role_and_token() {
        use TokenState as T;
        let valid = |allow_force| T::Valid { allow_force };
        let table = [
            (None, valid(true), Some(Barred::NotMember), false),
            (Some(Role::Viewer), valid(true), Some(Barred::Role), false),
            (Some(Role::Owner), T::Gone, Some(Barred::Token), false),
            (Some(Role::Developer), valid(true), None, false),
            (Some(Role::Maintainer), valid(true), None, true),
            (Some(Role::Maintainer), valid(false), None, false),
            (Some(Role::Owner), T::Unknown, None, false),
        ];
        for (role, token, barred, can_force) in table {
            let rights = Rights::of(role, token, Role::Maintainer);
            assert_eq!(rights, Rights { barred, can_force }, "{role:?} {token:?}");
            let limited = Rights { barred: barred.or(Some(Barred::SessionLimit)), can_force: false };
            assert_eq!(rights.at_session_limit(), limited, "{role:?} {token:?}");
        }
    }
}
