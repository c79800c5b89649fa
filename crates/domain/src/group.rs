//! Groups of members. Definitions refer to a group by its name, which is unique in the organization; grants
//! refer to it by its id.

use crate::id::GroupId;

/// The maximum number of groups in an organization.
pub const MAX_GROUPS: i64 = 500;

/// The maximum number of members of a group.
pub const MAX_MEMBERS: i64 = 1_000;

/// Returns the subject of a group's events.
pub fn subject(id: GroupId) -> String {
    format!("groups/{id}")
}
