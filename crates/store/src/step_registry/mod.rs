//! Step registries, the versions of their steps, and the locks of definitions. Versions and their content are never
//! changed or deleted: locks refer to them.

mod candidates;
mod credential;
mod lock;
mod read;
mod step;
mod sync;
mod sync_record;
mod usage;
mod version;
mod write;
mod yank;

use greenroom_domain::id::{RegistryId, UserId};
use greenroom_domain::step_registry::RegistryStatus;
use jiff::Timestamp;

pub use self::credential::{CredentialChange, SealedCredential};
pub use self::step::StepRecord;
pub use self::sync::{KnownTags, NewStepVersion, PublishedTag, RefusedTag, SyncBatch, SyncEnd, TagRefusal};
pub use self::usage::StepUsageRecord;
pub use self::version::{StepVersionDetail, StepVersionRecord};
pub use self::write::{RegistryChange, RegistryContent};
use crate::StoreError;
use crate::error::parse_column;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryRecord {
    pub id: RegistryId,
    pub name: String,
    pub url: String,
    pub signers: Vec<String>,
    pub require_signature: bool,
    pub minimum_age_seconds: i32,
    pub has_credential: bool,
    pub status: RegistryStatus,
    pub synced_at: Option<Timestamp>,
    pub next_sync_at: Timestamp,
    pub error: Option<String>,
    pub revision: i64,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

struct Row {
    id: uuid::Uuid,
    name: String,
    url: String,
    signers: Vec<String>,
    require_signature: bool,
    minimum_age_seconds: i32,
    has_credential: bool,
    status: String,
    synced_at: Option<jiff_sqlx::Timestamp>,
    next_sync_at: jiff_sqlx::Timestamp,
    error: Option<String>,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    updated_at: jiff_sqlx::Timestamp,
    deleted_at: Option<jiff_sqlx::Timestamp>,
}

impl TryFrom<Row> for RegistryRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            name: row.name,
            url: row.url,
            signers: row.signers,
            require_signature: row.require_signature,
            minimum_age_seconds: row.minimum_age_seconds,
            has_credential: row.has_credential,
            status: parse_column("step_registries.status", &row.status)?,
            synced_at: row.synced_at.map(jiff_sqlx::Timestamp::to_jiff),
            next_sync_at: row.next_sync_at.to_jiff(),
            error: row.error,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            updated_at: row.updated_at.to_jiff(),
            deleted_at: row.deleted_at.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}
