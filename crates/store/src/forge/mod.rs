//! Connected forges. Their credentials are sealed; this crate can't open them.

mod call;
mod credential;
mod read;
mod write;

use greenroom_domain::forge::{ForgeKind, RepositoryPattern};
use greenroom_domain::id::{ForgeId, UserId};
use greenroom_domain::secret::SealedValue;
use jiff::Timestamp;

pub use self::credential::SealedForgeCredential;
pub use self::write::{ForgeContent, NewForge};
use crate::StoreError;
use crate::error::parse_column;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeRecord {
    pub id: ForgeId,
    pub name: String,
    pub kind: ForgeKind,
    pub address: String,
    pub repositories: Vec<RepositoryPattern>,
    /// It opens for this forge and its `address` only.
    pub credential: SealedValue,
    pub last_used_at: Option<Timestamp>,
    pub last_error: Option<String>,
    pub revision: i64,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub updated_at: Timestamp,
}

struct Row {
    id: uuid::Uuid,
    name: String,
    kind: String,
    address: String,
    repositories: Vec<String>,
    credential_key_id: uuid::Uuid,
    credential_nonce: Vec<u8>,
    credential_sealed: Vec<u8>,
    last_used_at: Option<jiff_sqlx::Timestamp>,
    last_error: Option<String>,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    updated_at: jiff_sqlx::Timestamp,
}

impl TryFrom<Row> for ForgeRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        // A pattern that is not valid any more matches nothing.
        let patterns = row.repositories.iter().filter_map(|text| RepositoryPattern::new(text).ok());
        Ok(Self {
            id: row.id.into(),
            name: row.name,
            kind: parse_column("forges.kind", &row.kind)?,
            address: row.address,
            repositories: patterns.collect(),
            credential: SealedValue {
                key: row.credential_key_id.into(),
                nonce: row.credential_nonce,
                sealed: row.credential_sealed,
            },
            last_used_at: row.last_used_at.map(jiff_sqlx::Timestamp::to_jiff),
            last_error: row.last_error,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            updated_at: row.updated_at.to_jiff(),
        })
    }
}
