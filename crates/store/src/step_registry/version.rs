//! Reads the versions of steps.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RegistryId, UserId};
use greenroom_domain::step::{LockedStep, StepDigest, StepVersion};
use jiff::Timestamp;

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepVersionRecord {
    pub name: String,
    pub version: StepVersion,
    pub digest: StepDigest,
    pub tag_object: String,
    pub description: Option<String>,
    pub bytes: i32,
    pub signer: Option<String>,
    pub seen_at: Timestamp,
    pub yanked_at: Option<Timestamp>,
    pub yanked_by: Option<UserId>,
    pub yank_reason: Option<String>,
    pub refused: bool,
}

/// A version with what can be read of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepVersionDetail {
    pub record: StepVersionRecord,
    /// The text of its `step.yaml`.
    pub manifest: String,
    /// Sorted lines of mode, path and SHA-256.
    pub files: String,
}

pub(super) struct VersionRow {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) digest: String,
    pub(super) tag_object: String,
    pub(super) description: Option<String>,
    pub(super) bytes: i32,
    pub(super) signer: Option<String>,
    pub(super) seen_at: jiff_sqlx::Timestamp,
    pub(super) yanked_at: Option<jiff_sqlx::Timestamp>,
    pub(super) yanked_by: Option<uuid::Uuid>,
    pub(super) yank_reason: Option<String>,
    pub(super) refused: bool,
}

impl TryFrom<VersionRow> for StepVersionRecord {
    type Error = StoreError;

    fn try_from(row: VersionRow) -> Result<Self, StoreError> {
        Ok(Self {
            name: row.name,
            version: parse_column("step_versions.version", &row.version)?,
            digest: parse_column("step_versions.digest", &row.digest)?,
            tag_object: row.tag_object,
            description: row.description,
            bytes: row.bytes,
            signer: row.signer,
            seen_at: row.seen_at.to_jiff(),
            yanked_at: row.yanked_at.map(jiff_sqlx::Timestamp::to_jiff),
            yanked_by: row.yanked_by.map(UserId::from),
            yank_reason: row.yank_reason,
            refused: row.refused,
        })
    }
}

/// Selects versions of the step `$3` of the registry `$2` in organization `$1` that fulfill a condition.
macro_rules! version_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            VersionRow,
            "select v.name, v.version, v.digest, v.tag_object, v.description, v.bytes, v.signer, v.seen_at, v.yanked_at,
                    v.yanked_by, v.yank_reason, v.refused
             from step_versions v
             where v.organization_id = $1 and v.registry_id = $2 and v.name = $3 " + $condition,
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the versions of a step, the highest first.
    pub async fn step_versions(
        &self,
        organization: OrganizationId,
        (registry, name): (RegistryId, &str),
        page: Page,
    ) -> Result<PageResult<StepVersionRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from step_versions where organization_id = $1 and registry_id = $2 and name = $3 limit $4
               ) counted"#,
            organization.uuid(),
            registry.uuid(),
            name,
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = version_query!(
            "order by v.version_key desc limit $4 offset $5",
            organization.uuid(),
            registry.uuid(),
            name,
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(StepVersionRecord::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns a version with its manifest and the list of its files.
    pub async fn step_version(
        &self,
        organization: OrganizationId,
        (registry, name): (RegistryId, &str),
        version: &StepVersion,
    ) -> Result<Option<StepVersionDetail>, StoreError> {
        let version = version.to_string();
        let row = version_query!("and v.version = $4", organization.uuid(), registry.uuid(), name, version);
        let Some(row) = row.fetch_optional(&self.pool()).await? else { return Ok(None) };
        let content = sqlx::query!(
            "select v.manifest, a.files from step_versions v
             join step_archives a on a.organization_id = v.organization_id and a.digest = v.digest
             where v.organization_id = $1 and v.registry_id = $2 and v.name = $3 and v.version = $4",
            organization.uuid(),
            registry.uuid(),
            name,
            version,
        )
        .fetch_one(&self.pool())
        .await?;
        Ok(Some(StepVersionDetail {
            record: row.try_into()?,
            manifest: content.manifest,
            files: content.files,
        }))
    }

    /// Returns the manifest of a version that a reference was resolved to.
    pub async fn step_manifest(
        &self,
        organization: OrganizationId,
        step: &LockedStep,
    ) -> Result<String, StoreError> {
        Ok(sqlx::query_scalar!(
            "select manifest from step_versions
             where organization_id = $1 and registry_id = $2 and name = $3 and version = $4",
            organization.uuid(),
            step.registry_id.uuid(),
            step.name,
            step.version.to_string(),
        )
        .fetch_one(&self.pool())
        .await?)
    }

    /// Returns the highest version that is lower than another one.
    pub async fn step_version_before(
        &self,
        organization: OrganizationId,
        (registry, name): (RegistryId, &str),
        version: &StepVersion,
    ) -> Result<Option<StepVersion>, StoreError> {
        let found = sqlx::query_scalar!(
            "select o.version from step_versions v
             join step_versions o on o.organization_id = v.organization_id and o.registry_id = v.registry_id
                 and o.name = v.name and o.version_key < v.version_key
             where v.organization_id = $1 and v.registry_id = $2 and v.name = $3 and v.version = $4
             order by o.version_key desc limit 1",
            organization.uuid(),
            registry.uuid(),
            name,
            version.to_string(),
        )
        .fetch_optional(&self.pool())
        .await?;
        found.map(|version| parse_column("step_versions.version", &version)).transpose()
    }

    /// Returns the archive with the content of a digest.
    pub async fn step_archive(
        &self,
        organization: OrganizationId,
        digest: &StepDigest,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(sqlx::query_scalar!(
            "select archive from step_archives where organization_id = $1 and digest = $2",
            organization.uuid(),
            digest.as_str(),
        )
        .fetch_optional(&self.pool())
        .await?)
    }
}

#[boxed_futures]
impl Command {
    /// Returns a version, and locks its row.
    pub async fn step_version_for_update(
        &mut self,
        (registry, name): (RegistryId, &str),
        version: &StepVersion,
    ) -> Result<Option<StepVersionRecord>, StoreError> {
        let organization = self.organization();
        let version = version.to_string();
        let row = version_query!(
            "and v.version = $4 for update of v",
            organization,
            registry.uuid(),
            name,
            version,
        );
        row.fetch_optional(self.connection()).await?.map(StepVersionRecord::try_from).transpose()
    }
}
