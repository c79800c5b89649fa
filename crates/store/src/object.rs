//! Objects of the object store: their names, and the list of those that garbage collection removes. The
//! object store has no transactions. So each upload or removal is recorded here first, and a crash in between
//! leaves no unreferenced object.

use std::ops::Range;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{ArtifactId, OrganizationId, PipelineId, StepRunId};

use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// An upload takes at most an hour. An object that is still unreferenced after this time was left by a server
/// that crashed.
const MAX_UPLOAD_HOURS: i32 = 2;
/// Reads that are in progress when an object is discarded may continue for this long.
const MAX_READ_HOURS: i32 = 2;

/// The name of the object with a range of a log's bytes. Each upload has its own name, so that removing a rejected one never removes another that was stored.
pub fn log_name(
    organization: OrganizationId,
    step: StepRunId,
    bytes: Range<u64>,
    upload: uuid::Uuid,
) -> String {
    let (start, length) = (bytes.start, bytes.end - bytes.start);
    format!("{}{start:015}-{length}-{}", log_folder(organization, step), upload.as_simple())
}

/// The name of the object with the templates of a log's lines. It is removed with the log.
pub fn log_templates_name(organization: OrganizationId, step: StepRunId) -> String {
    format!("{}templates", log_folder(organization, step))
}

/// The prefix of all objects of one log.
pub(crate) fn log_folder(organization: OrganizationId, step: StepRunId) -> String {
    format!("logs/{organization}/{step}/")
}

pub fn artifact_name(organization: OrganizationId, id: ArtifactId) -> String {
    format!("artifacts/{organization}/{id}")
}

/// Each upload has its own name, so that two uploads under one key never write to the same object.
pub fn cache_name(organization: OrganizationId, pipeline: PipelineId, upload: uuid::Uuid) -> String {
    format!("caches/{organization}/{pipeline}/{upload}")
}

#[boxed_futures]
impl Store {
    /// Registers an object before its upload. Garbage collection removes it unless
    /// [`OrgTransaction::retain_object`] is called in time.
    pub async fn register_object(&self, organization: OrganizationId, name: &str) -> Result<(), StoreError> {
        sqlx::query!(
            "insert into discarded_objects (organization_id, name, due_at)
             values ($1, $2, clock_timestamp() + make_interval(hours => $3))",
            organization.uuid(),
            name,
            MAX_UPLOAD_HOURS,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Makes a registered object due for removal, because nothing references it.
    pub async fn discard_object(&self, organization: OrganizationId, name: &str) -> Result<(), StoreError> {
        sqlx::query!(
            "update discarded_objects set due_at = clock_timestamp() where organization_id = $1 and name = $2",
            organization.uuid(),
            name,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Deletes the entry of a rejected object that was removed from the object store.
    pub async fn unregister_object(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "delete from discarded_objects where organization_id = $1 and name = $2",
            organization.uuid(),
            name,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}

impl OrgTransaction {
    /// Keeps a registered object, because a row of this transaction references it.
    pub(crate) async fn retain_object(&mut self, name: &str) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from discarded_objects where organization_id = $1 and name = $2",
            organization,
            name,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Discards objects that are no longer referenced. Readers may still have them open, so they are removed
    /// later.
    pub(crate) async fn discard_objects(&mut self, names: &[String]) -> Result<(), StoreError> {
        self.discard_objects_after(names, MAX_READ_HOURS).await
    }

    /// Discards objects that are no longer referenced and that nothing can be reading. They are removed
    /// immediately.
    pub(crate) async fn discard_unread_objects(&mut self, names: &[String]) -> Result<(), StoreError> {
        self.discard_objects_after(names, 0).await
    }

    async fn discard_objects_after(&mut self, names: &[String], hours: i32) -> Result<(), StoreError> {
        if names.is_empty() {
            return Ok(());
        }
        let organization = self.organization();
        sqlx::query!(
            "insert into discarded_objects (organization_id, name, due_at)
             select $1, name, clock_timestamp() + make_interval(hours => $3) from unnest($2::text[]) as gone (name)
             on conflict (organization_id, name) do nothing",
            organization,
            names,
            hours,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
