//! Members of an organization.

use greenroom_domain::member::Member as DomainMember;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::session_ending::EndedSession;

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Viewer,
    Developer,
    Maintainer,
    Admin,
    Owner,
}

impl From<greenroom_domain::role::Role> for Role {
    fn from(role: greenroom_domain::role::Role) -> Self {
        use greenroom_domain::role::Role as R;
        match role {
            R::Viewer => Self::Viewer,
            R::Developer => Self::Developer,
            R::Maintainer => Self::Maintainer,
            R::Admin => Self::Admin,
            R::Owner => Self::Owner,
        }
    }
}

impl From<Role> for greenroom_domain::role::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Viewer => Self::Viewer,
            Role::Developer => Self::Developer,
            Role::Maintainer => Self::Maintainer,
            Role::Admin => Self::Admin,
            Role::Owner => Self::Owner,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub user_id: String,
    pub email: String,
    pub name: String,
    pub role: Role,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<DomainMember> for Member {
    fn from(member: DomainMember) -> Self {
        Self {
            user_id: member.user_id.to_string(),
            email: member.email,
            name: member.name,
            role: member.role.into(),
            created_at: member.created_at,
            updated_at: member.updated_at,
        }
    }
}

/// A member after a change or a removal.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedMember {
    #[serde(flatten)]
    pub member: Member,
    /// The member's sessions that ended because the member was removed or has a role below developer. The
    /// list has at most 500; any others end shortly after the response.
    pub ended: Vec<EndedSession>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddMember {
    #[schema(min_length = 3, max_length = 254, example = "dev@example.com")]
    pub email: String,
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    pub role: Role,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateMember {
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    pub role: Option<Role>,
}
