//! Grants: they raise the role of a group or a user on one pipeline, to maintainer at most. Reading is not
//! affected, because every member reads everything that a grant could add.

use crate::id::{GroupId, PipelineId, UserId};
use crate::policy::Denied;
use crate::role::Role;
use crate::scope::Scopes;

/// The highest role that a grant can give. What needs a higher one can't be granted.
pub const MAX_ROLE: Role = Role::Maintainer;

/// The maximum number of grants on a pipeline.
pub const MAX_GRANTS: i64 = 200;

/// Who has a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grantee {
    Group(GroupId),
    User(UserId),
}

/// Returns the role on a pipeline: the highest of the organization's role and of the granted ones. A grant
/// never lowers a role.
pub fn role_on_pipeline(organization: Role, granted: impl IntoIterator<Item = Role>) -> Role {
    granted.into_iter().map(|role| role.min(MAX_ROLE)).fold(organization, Role::max)
}

/// Returns whether a grant can raise the role at all. If it can't, nothing has to be looked up.
pub fn can_raise(organization: Role) -> bool {
    organization < MAX_ROLE
}

/// Returns whether a check that fails with the organization's role could succeed with a grant.
pub fn could_allow(
    check: impl Fn(Role, Scopes) -> Result<(), Denied>,
    organization: Role,
    scopes: Scopes,
) -> bool {
    can_raise(organization) && check(MAX_ROLE, scopes).is_ok()
}

/// Returns whether a role can be granted. A grant as viewer would raise nothing.
pub fn is_grantable(role: Role) -> bool {
    Role::Viewer < role && role <= MAX_ROLE
}

/// Returns the subject of a grant's events.
pub fn subject(pipeline: PipelineId, grantee: Grantee) -> String {
    match grantee {
        Grantee::Group(id) => format!("pipelines/{pipeline}/grants/groups/{id}"),
        Grantee::User(id) => format!("pipelines/{pipeline}/grants/users/{id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Act, Action, action, check};
    use crate::scope::Scope;

    #[test]
    fn a_grant_raises_and_never_lowers() {
        for organization in Role::ALL.iter().copied() {
            assert_eq!(role_on_pipeline(organization, []), organization);
            for granted in Role::ALL.iter().copied() {
                let role = role_on_pipeline(organization, [granted]);
                assert!(role >= organization, "{organization} {granted}");
                assert_eq!(role, organization.max(granted.min(Role::Maintainer)), "{organization} {granted}");
            }
        }
        assert_eq!(role_on_pipeline(Role::Viewer, [Role::Developer, Role::Maintainer]), Role::Maintainer);
        assert_eq!(
            role_on_pipeline(Role::Viewer, [Role::Owner]),
            Role::Maintainer,
            "a row that was edited by hand"
        );
    }

    #[test]
    fn only_developer_and_maintainer_are_granted() {
        let grantable: Vec<Role> = Role::ALL.iter().copied().filter(|role| is_grantable(*role)).collect();
        assert_eq!(grantable, [Role::Developer, Role::Maintainer]);
    }

    /// What needs an admin can't be granted, and neither can a scope that the token lacks.
    #[test]
    fn a_grant_helps_only_up_to_maintainer_and_within_the_scopes() {
        for action in Action::ALL.iter().copied() {
            let allows = could_allow(|role, scopes| check(role, scopes, action), Role::Viewer, Scopes::ALL);
            assert_eq!(allows, action.least_role() <= Role::Maintainer, "{}", action.name());
        }
        let held = |role, scopes| could_allow(action::SessionHold::check, role, Scopes::of(&[scopes]));
        assert!(held(Role::Viewer, Scope::Hold));
        assert!(!held(Role::Viewer, Scope::Read));
        assert!(!held(Role::Maintainer, Scope::Hold), "it would not be raised");
    }
}
