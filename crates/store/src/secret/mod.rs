//! Secrets: their records, their versions with sealed values, and the log of their reads. This crate can't
//! open a value.

mod credential;
mod place;
mod read;
mod read_log;
mod reseal;
mod start;
mod version;
mod write;

use greenroom_domain::id::{PipelineId, SecretId, UserId};
use greenroom_domain::secret::{Policy, SecretScope, Usage};
use greenroom_domain::token_grant::PipelineLimit;
use jiff::Timestamp;

pub use self::credential::{AcceptedCredential, CredentialOutcome};
pub use self::read_log::{DeploymentSecretRead, SecretRead};
pub use self::reseal::SealedValueAt;
pub(crate) use self::start::candidate;
pub use self::start::{ChosenSecret, StepSecrets};
pub use self::version::{NewVersion, SecretVersion};
pub use self::write::NewSecret;
use crate::StoreError;

/// A secret without any of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRecord {
    pub id: SecretId,
    pub name: String,
    pub scope: SecretScope,
    pub description: Option<String>,
    pub policy: Policy,
    pub usage: Option<Usage>,
    pub active_version: i32,
    pub newest_version: i32,
    pub revision: i64,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

/// Which secrets to list.
#[derive(Clone, Debug)]
pub struct SecretFilter {
    /// Only secrets of these pipelines; with `All`, secrets of the whole organization too.
    pub within: PipelineLimit,
    pub pipeline: Option<PipelineId>,
    pub name: Option<String>,
}

struct Row {
    id: uuid::Uuid,
    name: String,
    pipeline_id: Option<uuid::Uuid>,
    environment: Option<String>,
    description: Option<String>,
    policy: serde_json::Value,
    usage: Option<serde_json::Value>,
    active_version: i32,
    newest_version: i32,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    updated_at: jiff_sqlx::Timestamp,
    deleted_at: Option<jiff_sqlx::Timestamp>,
}

impl TryFrom<Row> for SecretRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            name: row.name,
            scope: scope(row.pipeline_id, row.environment),
            description: row.description,
            policy: json("secrets.policy", row.policy)?,
            usage: row.usage.map(|usage| json("secrets.usage", usage)).transpose()?,
            active_version: row.active_version,
            newest_version: row.newest_version,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            updated_at: row.updated_at.to_jiff(),
            deleted_at: row.deleted_at.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}

/// Reads the scope of a secret. The column `scope` follows from the two others by a check of the schema.
fn scope(pipeline: Option<uuid::Uuid>, environment: Option<String>) -> SecretScope {
    match (pipeline, environment) {
        (None, _) => SecretScope::Organization,
        (Some(pipeline), None) => SecretScope::Pipeline(pipeline.into()),
        (Some(pipeline), Some(environment)) => SecretScope::Environment(pipeline.into(), environment),
    }
}

fn json<T: serde::de::DeserializeOwned>(
    column: &'static str,
    value: serde_json::Value,
) -> Result<T, StoreError> {
    serde_json::from_value(value).map_err(|error| StoreError::Unreadable { column, value: error.to_string() })
}
