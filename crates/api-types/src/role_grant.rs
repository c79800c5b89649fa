//! Grants: roles of groups and users on single pipelines.

use greenroom_domain::role::Role;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::member::Role as MemberRole;
use crate::person::Person;
use crate::session_ending::EndedSession;

/// A grant raises the role of a group or of a user on one pipeline. It has either `group` or `user`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    #[schema(example = "pip_0190a0b0-0000-7000-8000-000000000001")]
    pub pipeline_id: String,
    /// The group whose members have the role on the pipeline.
    pub group: Option<GrantedGroup>,
    /// The user who has the role on the pipeline.
    pub user: Option<Person>,
    /// The least role on the pipeline. A higher role in the organization is not lowered.
    pub role: MemberRole,
    pub created_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    pub updated_at: Timestamp,
}

/// A group, as part of a grant.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantedGroup {
    #[schema(example = "grp_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    #[schema(example = "release-managers")]
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetGrant {
    pub role: GrantedRole,
}

/// A role that can be granted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum GrantedRole {
    Developer,
    Maintainer,
}

impl From<GrantedRole> for Role {
    fn from(role: GrantedRole) -> Self {
        match role {
            GrantedRole::Developer => Self::Developer,
            GrantedRole::Maintainer => Self::Maintainer,
        }
    }
}

/// A grant that was deleted.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedGrant {
    #[schema(example = "pip_0190a0b0-0000-7000-8000-000000000001")]
    pub pipeline_id: String,
    /// The id of the group or of the user.
    #[schema(example = "grp_0190a0b0-0000-7000-8000-000000000001")]
    pub grantee_id: String,
    /// The sessions on the pipeline that ended because only this grant permitted them. The list has at most 500;
    /// any others end shortly after the response.
    pub ended: Vec<EndedSession>,
}
