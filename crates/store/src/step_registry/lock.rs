//! The locks of definitions: what each reference meant when the version of the definition was saved.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::step::{LockedStep, StepLock};

use crate::error::parse_column;
use crate::{OrgTransaction, Store, StoreError};

struct Row {
    reference: String,
    registry_id: uuid::Uuid,
    name: String,
    version: String,
    digest: String,
}

/// Returns a reference and what it means.
fn locked(row: Row) -> Result<(String, LockedStep), StoreError> {
    // The reference has the name that the registry had then.
    let registry = row.reference.split('/').next().unwrap_or_default().to_owned();
    let step = LockedStep {
        registry_id: row.registry_id.into(),
        registry,
        name: row.name,
        version: parse_column("step_locks.version", &row.version)?,
        digest: parse_column("step_locks.digest", &row.digest)?,
    };
    Ok((row.reference, step))
}

/// Selects the locks of version `$3` of the pipeline `$2` in organization `$1`.
macro_rules! locks_query {
    ($organization:expr, $pipeline:expr, $version:expr) => {
        sqlx::query_as!(
            Row,
            "select reference, registry_id, name, version, digest from step_locks
             where organization_id = $1 and pipeline_id = $2 and pipeline_version = $3 order by reference",
            $organization,
            $pipeline.uuid(),
            $version,
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the lock of a version of a definition.
    pub async fn step_lock(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
        version: i32,
    ) -> Result<StepLock, StoreError> {
        let rows = locks_query!(organization.uuid(), pipeline, version).fetch_all(&self.pool()).await?;
        rows.into_iter().map(locked).collect()
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns the lock of a version of a definition.
    pub async fn step_lock(&mut self, pipeline: PipelineId, version: i32) -> Result<StepLock, StoreError> {
        let organization = self.organization();
        let rows = locks_query!(organization, pipeline, version).fetch_all(self.connection()).await?;
        rows.into_iter().map(locked).collect()
    }

    /// Writes the lock of a new version of a definition.
    pub async fn write_step_lock(
        &mut self,
        pipeline: PipelineId,
        version: i32,
        lock: &StepLock,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let references: Vec<String> = lock.iter().map(|(reference, _)| reference.to_owned()).collect();
        let registries: Vec<uuid::Uuid> = lock.iter().map(|(_, step)| step.registry_id.uuid()).collect();
        let names: Vec<String> = lock.iter().map(|(_, step)| step.name.clone()).collect();
        let versions: Vec<String> = lock.iter().map(|(_, step)| step.version.to_string()).collect();
        let digests: Vec<String> = lock.iter().map(|(_, step)| step.digest.to_string()).collect();
        sqlx::query!(
            "insert into step_locks
                 (organization_id, pipeline_id, pipeline_version, reference, registry_id, name, version, digest)
             select $1, $2, $3, l.reference, l.registry_id, l.name, l.version, l.digest
             from unnest($4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[])
                 as l (reference, registry_id, name, version, digest)",
            organization,
            pipeline.uuid(),
            version,
            &references,
            &registries,
            &names,
            &versions,
            &digests,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
