//! The versions of a secret. What may follow what is decided by `domain::secret`.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, SecretId, UserId};
use greenroom_domain::secret::{SealedValue, VersionStatus};
use jiff::Timestamp;

use super::SecretRecord;
use crate::error::{parse_column, to_column};
use crate::page::{Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// A version without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretVersion {
    pub version: i32,
    pub status: VersionStatus,
    /// The length of the value.
    pub bytes: i32,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub activated_at: Option<Timestamp>,
    pub destroyed_at: Option<Timestamp>,
}

/// A value to store as a new version.
#[derive(Clone, Debug)]
pub struct NewVersion<'a> {
    pub value: &'a SealedValue,
    pub bytes: usize,
    /// Whether it is only stored, and not used yet.
    pub is_staged: bool,
}

struct Row {
    version: i32,
    status: String,
    bytes: i32,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    activated_at: Option<jiff_sqlx::Timestamp>,
    destroyed_at: Option<jiff_sqlx::Timestamp>,
}

impl TryFrom<Row> for SecretVersion {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            version: row.version,
            status: parse_column("secret_versions.status", &row.status)?,
            bytes: row.bytes,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            activated_at: row.activated_at.map(jiff_sqlx::Timestamp::to_jiff),
            destroyed_at: row.destroyed_at.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}

#[boxed_futures]
impl Store {
    /// Returns the versions of a secret, newest first. They are numbered densely.
    pub async fn secret_versions(
        &self,
        organization: OrganizationId,
        secret: &SecretRecord,
        page: Page,
    ) -> Result<PageResult<SecretVersion>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "select version, status, bytes, created_at, created_by, activated_at, destroyed_at from secret_versions
             where organization_id = $1 and secret_id = $2 order by version desc limit $3 offset $4",
            organization.uuid(),
            secret.id.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(SecretVersion::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::exactly(secret.newest_version.into()) })
    }
}

#[boxed_futures]
impl Command {
    /// Stores a value as the next version of a secret whose row is locked. Unless it is staged, it becomes the
    /// active version, and the one before is retired.
    pub async fn add_secret_version(
        &mut self,
        secret: &SecretRecord,
        new: &NewVersion<'_>,
    ) -> Result<SecretVersion, StoreError> {
        let organization = self.organization();
        let version = secret.newest_version + 1;
        if !new.is_staged {
            self.retire_active_version(secret.id).await?;
        }
        sqlx::query!(
            "update secrets
             set newest_version = $3, active_version = case when $4 then active_version else $3 end,
                 revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2",
            organization,
            secret.id.uuid(),
            version,
            new.is_staged,
        )
        .execute(self.connection())
        .await?;
        self.insert_secret_version(secret.id, version, new).await
    }

    pub(super) async fn insert_secret_version(
        &mut self,
        secret: SecretId,
        version: i32,
        new: &NewVersion<'_>,
    ) -> Result<SecretVersion, StoreError> {
        let organization = self.organization();
        let user = self.principal().user_id.uuid();
        let row = sqlx::query_as!(
            Row,
            "insert into secret_versions
                 (organization_id, secret_id, version, key_id, nonce, sealed, bytes, status, created_by, activated_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, case when $10 then null else clock_timestamp() end)
             returning version, status, bytes, created_at, created_by, activated_at, destroyed_at",
            organization,
            secret.uuid(),
            version,
            new.value.key.uuid(),
            new.value.nonce,
            new.value.sealed,
            to_column::<_, i32>("secret_versions.bytes", new.bytes)?,
            if new.is_staged { VersionStatus::Staged } else { VersionStatus::Active }.as_str(),
            user,
            new.is_staged,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Returns a version of a secret whose row is locked.
    pub async fn secret_version(
        &mut self,
        secret: SecretId,
        version: i32,
    ) -> Result<Option<SecretVersion>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select version, status, bytes, created_at, created_by, activated_at, destroyed_at from secret_versions
             where organization_id = $1 and secret_id = $2 and version = $3",
            organization,
            secret.uuid(),
            version,
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(SecretVersion::try_from).transpose()
    }

    /// Makes a version the active one. The caller has checked its status.
    pub async fn activate_secret_version(
        &mut self,
        secret: SecretId,
        version: i32,
    ) -> Result<SecretVersion, StoreError> {
        let organization = self.organization();
        self.retire_active_version(secret).await?;
        sqlx::query!(
            "update secrets set active_version = $3, revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2",
            organization,
            secret.uuid(),
            version,
        )
        .execute(self.connection())
        .await?;
        let row = sqlx::query_as!(
            Row,
            "update secret_versions set status = $4, activated_at = clock_timestamp()
             where organization_id = $1 and secret_id = $2 and version = $3
             returning version, status, bytes, created_at, created_by, activated_at, destroyed_at",
            organization,
            secret.uuid(),
            version,
            VersionStatus::Active.as_str(),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Deletes the value of a version. The caller has checked its status.
    pub async fn destroy_secret_version(
        &mut self,
        secret: SecretId,
        version: i32,
    ) -> Result<SecretVersion, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "update secret_versions
             set status = $4, key_id = null, nonce = null, sealed = null, destroyed_at = clock_timestamp()
             where organization_id = $1 and secret_id = $2 and version = $3
             returning version, status, bytes, created_at, created_by, activated_at, destroyed_at",
            organization,
            secret.uuid(),
            version,
            VersionStatus::Destroyed.as_str(),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Retires the active version, because another one takes its place. One active version per secret is a
    /// unique index, so this comes first.
    async fn retire_active_version(&mut self, secret: SecretId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update secret_versions set status = $3
             where organization_id = $1 and secret_id = $2 and status = 'active'",
            organization,
            secret.uuid(),
            VersionStatus::Retired.as_str(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
