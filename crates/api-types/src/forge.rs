//! Connected forges.

use greenroom_domain::forge as domain;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::secret::SecretText;

open_enum!(ForgeKind(domain::ForgeKind), "`github` (also GitHub Enterprise) or `forgejo` (also Gitea).");

/// A forge, where repositories are hosted: pull requests are opened and commits are looked up there.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Forge {
    #[schema(example = "fge_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    /// Unique in the organization. It can't be changed.
    #[schema(example = "github")]
    pub name: String,
    pub kind: ForgeKind,
    /// The address of its API.
    #[schema(example = "https://api.github.com")]
    pub address: String,
    /// Which repositories it serves: `HOST`, `HOST/OWNER` or `HOST/OWNER/NAME`. If several forges serve a repository, the
    /// most specific entry decides, and of equal ones the forge whose name sorts first.
    #[schema(example = json!(["github.com/acme"]))]
    pub repositories: Vec<String>,
    /// When it was last called since the last change. Null: never.
    pub last_used_at: Option<Timestamp>,
    /// Why that call failed. Null: it succeeded, or there was none.
    #[schema(example = "the forge rejects the credential (401)")]
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    pub updated_at: Timestamp,
}

/// The credential of a forge. No response contains it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, try_from = "serde_json::Value")]
pub struct ForgeCredential {
    /// A token of the forge with the least rights that are needed (docs/forges.md).
    #[schema(value_type = String, min_length = 1, max_length = 4096, write_only)]
    pub token: SecretText,
}

/// Serde's own messages would repeat a value of another type.
impl TryFrom<serde_json::Value> for ForgeCredential {
    type Error = &'static str;

    fn try_from(value: serde_json::Value) -> Result<Self, &'static str> {
        let serde_json::Value::Object(mut fields) = value else {
            return Err("must be an object with a `token`");
        };
        let token = fields.remove("token").map(SecretText::deserialize);
        let Some(Ok(token)) = token else { return Err("must have a text as `token`") };
        if fields.is_empty() { Ok(Self { token }) } else { Err("must have no other field than `token`") }
    }
}

/// A forge to connect.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateForge {
    #[schema(example = "github", pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub name: String,
    pub kind: ForgeKind,
    /// The https address of its API: `https://api.github.com`, `https://HOST/api/v3` of GitHub Enterprise, or
    /// `https://HOST/api/v1` of Forgejo and Gitea. Its host is resolved and checked whenever it is connected to.
    #[schema(min_length = 1, max_length = 255)]
    pub address: String,
    /// Which repositories it serves: `HOST`, `HOST/OWNER` or `HOST/OWNER/NAME`. Default: all of its host.
    #[schema(min_items = 1, max_items = 50)]
    pub repositories: Option<Vec<String>>,
    /// It is sent to `address` only, and can never be read back.
    #[schema(write_only)]
    pub credential: ForgeCredential,
}

/// Changes to a forge. Fields that are left out stay unchanged.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateForge {
    /// Needs the credential again: the stored one is for the former address.
    #[schema(min_length = 1, max_length = 255)]
    pub address: Option<String>,
    /// Replaces the list.
    #[schema(min_items = 1, max_items = 50)]
    pub repositories: Option<Vec<String>>,
    /// Replaces the credential.
    #[schema(write_only)]
    pub credential: Option<ForgeCredential>,
}
