//! The caller of a request.

use greenroom_domain::principal::Principal;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::member::Role;
use crate::token::{Scope, TokenKind, pipeline_list, scope_list};

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    pub user_id: String,
    pub name: String,
    pub organization_id: String,
    pub organization_slug: String,
    pub role: Role,
    pub token: MyToken,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MyToken {
    pub id: String,
    pub kind: TokenKind,
    pub allow_force: bool,
    pub scopes: Vec<Scope>,
    /// The ids of the pipelines that the token is limited to; null if the token is not limited.
    pub pipelines: Option<Vec<String>>,
    pub expires_at: Option<Timestamp>,
}

impl From<&Principal> for Me {
    fn from(principal: &Principal) -> Self {
        Self {
            user_id: principal.user_id.to_string(),
            name: principal.user_name.clone(),
            organization_id: principal.organization_id.to_string(),
            organization_slug: principal.organization_slug.clone(),
            role: principal.role.into(),
            token: MyToken {
                id: principal.token_id.to_string(),
                kind: principal.token_kind.into(),
                allow_force: principal.token_allow_force,
                scopes: scope_list(principal.scopes),
                pipelines: pipeline_list(&principal.pipelines),
                expires_at: principal.token_expires_at,
            },
        }
    }
}
