//! Members of an organization, and who may change whom.

use jiff::Timestamp;

use crate::id::UserId;
use crate::policy::{Action, is_allowed};
use crate::role::Role;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub user_id: UserId,
    pub email: String,
    pub name: String,
    pub role: Role,
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Returns the action that is required to change the role of a member. `from` is `None` for a new member,
/// `to` is `None` for a removal.
pub fn action_for_change(from: Option<Role>, to: Option<Role>) -> Action {
    if from == Some(Role::Owner) || to == Some(Role::Owner) {
        Action::OwnerManage
    } else {
        Action::MemberManage
    }
}

/// Returns whether a change of role (`None`: removal) revokes the right to hold sessions. The member's
/// sessions end then.
pub fn loses_sessions(from: Role, to: Option<Role>) -> bool {
    let may_hold = |role| is_allowed(role, Action::SessionHold);
    may_hold(from) && !to.is_some_and(may_hold)
}

/// Returns whether a change would leave the organization without an owner. No one could manage it then.
pub fn leaves_no_owner(from: Role, to: Option<Role>, owners: usize) -> bool {
    from == Role::Owner && to != Some(Role::Owner) && owners <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_owners_manage_owners() {
        assert_eq!(action_for_change(None, Some(Role::Admin)), Action::MemberManage);
        assert_eq!(action_for_change(Some(Role::Viewer), None), Action::MemberManage);
        assert_eq!(action_for_change(None, Some(Role::Owner)), Action::OwnerManage);
        assert_eq!(action_for_change(Some(Role::Owner), Some(Role::Viewer)), Action::OwnerManage);
        assert_eq!(action_for_change(Some(Role::Owner), None), Action::OwnerManage);
    }

    #[test]
    fn sessions_end_with_the_right_to_hold_them() {
        for (from, to, ends) in [
            (Role::Developer, None, true),
            (Role::Owner, None, true),
            (Role::Developer, Some(Role::Viewer), true),
            (Role::Admin, Some(Role::Viewer), true),
            (Role::Owner, Some(Role::Developer), false),
            (Role::Maintainer, Some(Role::Developer), false),
            (Role::Developer, Some(Role::Owner), false),
            (Role::Viewer, None, false),
            (Role::Viewer, Some(Role::Viewer), false),
        ] {
            assert_eq!(loses_sessions(from, to), ends, "{from} {to:?}");
        }
    }

    #[test]
    fn the_last_owner_stays() {
        assert!(leaves_no_owner(Role::Owner, None, 1));
        assert!(leaves_no_owner(Role::Owner, Some(Role::Admin), 1));
        assert!(!leaves_no_owner(Role::Owner, Some(Role::Owner), 1));
        assert!(!leaves_no_owner(Role::Owner, None, 2));
        assert!(!leaves_no_owner(Role::Admin, None, 1));
    }
}
