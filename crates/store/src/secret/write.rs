//! Creates, changes and deletes secrets.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::SecretId;
use greenroom_domain::secret::{Policy, SecretScope, Usage, VersionStatus};
use serde_json::json;

use super::version::NewVersion;
use super::{Row, SecretRecord};
use crate::{Command, StoreError};

/// A secret to create, with its first version.
#[derive(Clone, Debug)]
pub struct NewSecret<'a> {
    pub id: SecretId,
    pub name: &'a str,
    pub scope: &'a SecretScope,
    pub description: Option<&'a str>,
    pub policy: &'a Policy,
    pub usage: Option<&'a Usage>,
    pub value: NewVersion<'a>,
}

#[boxed_futures]
impl Command {
    /// Creates a secret whose first version is active. Violates `secrets_live_name` if the scope has a secret
    /// of this name.
    pub async fn create_secret(&mut self, new: &NewSecret<'_>) -> Result<SecretRecord, StoreError> {
        let organization = self.organization();
        let user = self.principal().user_id.uuid();
        let row = sqlx::query_as!(
            Row,
            "insert into secrets
                 (organization_id, id, name, scope, pipeline_id, environment, description, policy, usage,
                  active_version, newest_version, created_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 1, $10)
             returning id, name, pipeline_id, environment, description, policy, usage, active_version, newest_version,
                       revision, created_at, created_by, updated_at, deleted_at",
            organization,
            new.id.uuid(),
            new.name,
            new.scope.kind().as_str(),
            new.scope.pipeline().map(|pipeline| pipeline.uuid()),
            new.scope.environment(),
            new.description,
            json!(new.policy),
            new.usage.map(|usage| json!(usage)),
            user,
        )
        .fetch_one(self.connection())
        .await?;
        self.insert_secret_version(new.id, 1, &new.value).await?;
        row.try_into()
    }

    /// Changes a secret's description and policy, for steps that start from now on.
    pub async fn update_secret(
        &mut self,
        id: SecretId,
        description: Option<&str>,
        policy: &Policy,
    ) -> Result<SecretRecord, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "update secrets
             set description = $3, policy = $4, revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, name, pipeline_id, environment, description, policy, usage, active_version, newest_version,
                       revision, created_at, created_by, updated_at, deleted_at",
            organization,
            id.uuid(),
            description,
            json!(policy),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Deletes a secret and destroys all of its values. Its record and the log of its reads stay.
    pub async fn delete_secret(&mut self, id: SecretId) -> Result<SecretRecord, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update secret_versions
             set status = $3, key_id = null, nonce = null, sealed = null, destroyed_at = clock_timestamp()
             where organization_id = $1 and secret_id = $2 and status <> $3",
            organization,
            id.uuid(),
            VersionStatus::Destroyed.as_str(),
        )
        .execute(self.connection())
        .await?;
        let row = sqlx::query_as!(
            Row,
            "update secrets
             set deleted_at = clock_timestamp(), revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, name, pipeline_id, environment, description, policy, usage, active_version, newest_version,
                       revision, created_at, created_by, updated_at, deleted_at",
            organization,
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }
}
