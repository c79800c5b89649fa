//! Objects of the object store: what they are called, and which of them are to go. The object store knows no transactions,
//! so that what is put there, or taken away, is noted here first: whoever dies on the way leaves nothing that stays.

use greenroom_domain::id::{ArtifactId, OrganizationId, PipelineId, StepRunId};

use crate::change::Change;
use crate::{Store, StoreError};

/// An upload takes an hour at most. One of which nothing came by then was left by a server that died.
const UPLOAD_HOURS: i32 = 2;
/// Whoever reads it at the moment may go on for so long.
const READ_HOURS: i32 = 2;

/// Each upload has a name of its own, so that removing a rejected one never removes another that was kept.
pub fn log_name(
    organization: OrganizationId,
    step: StepRunId,
    (start, length): (i64, i64),
    upload: uuid::Uuid,
) -> String {
    format!("{}{start:015}-{length}-{}", log_folder(organization, step), upload.as_simple())
}

/// Everything of one log is below it.
pub(crate) fn log_folder(organization: OrganizationId, step: StepRunId) -> String {
    format!("logs/{organization}/{step}/")
}

pub fn artifact_name(organization: OrganizationId, id: ArtifactId) -> String {
    format!("artifacts/{organization}/{id}")
}

/// A name of its own for each upload, so that two under one key never write to the same object.
pub fn cache_name(organization: OrganizationId, pipeline: PipelineId, upload: uuid::Uuid) -> String {
    format!("caches/{organization}/{pipeline}/{upload}")
}

impl Store {
    /// To be said before an object is put: unless something comes to refer to it ([`Change::keep_object`]), it goes.
    pub async fn announce_object(&self, organization: OrganizationId, name: &str) -> Result<(), StoreError> {
        sqlx::query!(
            "insert into discarded_objects (organization_id, name, due_at)
             values ($1, $2, clock_timestamp() + make_interval(hours => $3))",
            organization.uuid(),
            name,
            UPLOAD_HOURS,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// An object that was put in vain: nothing refers to it.
    pub async fn forget_object(&self, organization: OrganizationId, name: &str) -> Result<(), StoreError> {
        sqlx::query!(
            "update discarded_objects set due_at = clock_timestamp() where organization_id = $1 and name = $2",
            organization.uuid(),
            name,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// A rejected object is no longer in the object store.
    pub async fn object_removed(&self, organization: OrganizationId, name: &str) -> Result<(), StoreError> {
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

impl Change {
    /// From now on something refers to the object that was announced.
    pub(crate) async fn keep_object(&mut self, name: &str) -> Result<(), StoreError> {
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

    /// From now on nothing refers to these objects. Readers may still have them open, so they are removed later.
    pub(crate) async fn discard_objects(&mut self, names: &[String]) -> Result<(), StoreError> {
        self.discard_objects_after(names, READ_HOURS).await
    }

    /// From now on nothing refers to these objects, and nothing can be reading them: they are removed at once.
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
