//! Groups of members.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::session_ending::EndedSession;

/// A group of members of the organization. Definitions refer to it by its name.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    #[schema(example = "grp_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    /// Unique among the groups that are not deleted.
    #[schema(example = "release-managers")]
    pub name: String,
    pub description: Option<String>,
    pub created_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    pub updated_at: Timestamp,
    /// Set if the group was deleted. It has no members and no grants any more.
    pub deleted_at: Option<Timestamp>,
}

/// A group after its deletion.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedGroup {
    #[serde(flatten)]
    pub group: Group,
    /// The sessions that ended because only a grant of the group permitted them. The list has at most 500; any
    /// others end shortly after the response.
    pub ended: Vec<EndedSession>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateGroup {
    #[schema(example = "release-managers", pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub name: String,
    #[schema(min_length = 1, max_length = 500)]
    pub description: Option<String>,
}

/// Changes to a group. Fields that are left out stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateGroup {
    /// Definitions that name the group are not changed: for them, a group with the former name does not exist any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub name: Option<String>,
    /// `null` removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 500)]
    pub description: Option<Option<String>>,
}

/// A member of a group.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupMember {
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub user_id: String,
    pub name: String,
    pub added_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub added_by: String,
}

/// A user who is not a member of the group any more.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedGroupMember {
    #[schema(example = "grp_0190a0b0-0000-7000-8000-000000000001")]
    pub group_id: String,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub user_id: String,
    /// The user's sessions that ended because only a grant of the group permitted them. The list has at most 500;
    /// any others end shortly after the response.
    pub ended: Vec<EndedSession>,
}

/// Distinguishes a field that is `null` from one that is left out.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
