//! Creates, changes and deletes forges.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::forge::{ForgeKind, RepositoryPattern};
use greenroom_domain::id::ForgeId;
use greenroom_domain::secret::SealedValue;

use super::{ForgeRecord, Row};
use crate::{Command, StoreError};

/// What can be changed of a forge, besides its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeContent {
    pub address: String,
    pub repositories: Vec<RepositoryPattern>,
}

impl ForgeContent {
    fn patterns(&self) -> Vec<String> {
        self.repositories.iter().map(|pattern| pattern.as_str().to_owned()).collect()
    }
}

#[derive(Clone, Debug)]
pub struct NewForge<'a> {
    pub id: ForgeId,
    pub name: &'a str,
    pub kind: ForgeKind,
    pub content: &'a ForgeContent,
    pub credential: &'a SealedValue,
}

#[boxed_futures]
impl Command {
    /// Returns the number of forges. Takes an advisory lock, so that no concurrent transaction adds one.
    pub async fn lock_forge_count(&mut self) -> Result<i64, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "select pg_advisory_xact_lock(hashtextextended('forges ' || $1::uuid, 0))",
            organization,
        )
        .execute(self.connection())
        .await?;
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from forges where organization_id = $1"#,
            organization,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Creates a forge. Fails with `forges_name` if another one has the name.
    pub async fn create_forge(&mut self, new: &NewForge<'_>) -> Result<ForgeRecord, StoreError> {
        let (organization, by) = (self.organization(), self.principal().user_id.uuid());
        let row = sqlx::query_as!(
            Row,
            r#"insert into forges
                   (organization_id, id, name, kind, address, repositories, created_by, credential_key_id,
                    credential_nonce, credential_sealed)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
               returning id, name, kind, address, repositories, credential_key_id, credential_nonce,
                         credential_sealed, last_used_at, last_error, revision, created_at, created_by, updated_at"#,
            organization,
            new.id.uuid(),
            new.name,
            new.kind.as_str(),
            new.content.address,
            &new.content.patterns(),
            by,
            new.credential.key.uuid(),
            new.credential.nonce,
            new.credential.sealed,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Changes a forge. Without a credential, the stored one stays; what was recorded of the last call is forgotten.
    pub async fn update_forge(
        &mut self,
        id: ForgeId,
        content: &ForgeContent,
        credential: Option<&SealedValue>,
    ) -> Result<ForgeRecord, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            r#"update forges set address = $3, repositories = $4,
                   credential_key_id = coalesce($5, credential_key_id),
                   credential_nonce = coalesce($6, credential_nonce),
                   credential_sealed = coalesce($7, credential_sealed),
                   last_used_at = null, last_error = null,
                   revision = revision + 1, updated_at = clock_timestamp()
               where organization_id = $1 and id = $2
               returning id, name, kind, address, repositories, credential_key_id, credential_nonce,
                         credential_sealed, last_used_at, last_error, revision, created_at, created_by, updated_at"#,
            organization,
            id.uuid(),
            content.address,
            &content.patterns(),
            credential.map(|credential| credential.key.uuid()),
            credential.map(|credential| credential.nonce.as_slice()),
            credential.map(|credential| credential.sealed.as_slice()),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Deletes a forge with its credential.
    pub async fn delete_forge(&mut self, id: ForgeId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!("delete from forges where organization_id = $1 and id = $2", organization, id.uuid())
            .execute(self.connection())
            .await?;
        Ok(())
    }
}
