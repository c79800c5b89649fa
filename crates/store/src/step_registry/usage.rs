//! Which pipelines use a step.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId, RegistryId};
use greenroom_domain::step::{StepDigest, StepVersion};

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Store, StoreError};

/// A reference to a step in the current definition of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepUsageRecord {
    pub pipeline: PipelineId,
    pub pipeline_slug: String,
    pub pipeline_version: i32,
    pub reference: String,
    pub version: StepVersion,
    pub digest: StepDigest,
}

#[boxed_futures]
impl Store {
    /// Returns the references to a step in the current definitions of pipelines that are not archived, ordered by the
    /// pipeline's slug.
    pub async fn step_usage(
        &self,
        organization: OrganizationId,
        (registry, name): (RegistryId, &str),
        page: Page,
    ) -> Result<PageResult<StepUsageRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from step_locks l
                   join pipelines p on p.organization_id = l.organization_id and p.id = l.pipeline_id
                       and p.definition_version = l.pipeline_version
                   where l.organization_id = $1 and l.registry_id = $2 and l.name = $3 and p.status <> 'archived'
                   limit $4
               ) counted"#,
            organization.uuid(),
            registry.uuid(),
            name,
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query!(
            "select p.id, p.slug, l.pipeline_version, l.reference, l.version, l.digest from step_locks l
             join pipelines p on p.organization_id = l.organization_id and p.id = l.pipeline_id
                 and p.definition_version = l.pipeline_version
             where l.organization_id = $1 and l.registry_id = $2 and l.name = $3 and p.status <> 'archived'
             order by p.slug, l.reference limit $4 offset $5",
            organization.uuid(),
            registry.uuid(),
            name,
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| {
            Ok(StepUsageRecord {
                pipeline: row.id.into(),
                pipeline_slug: row.slug,
                pipeline_version: row.pipeline_version,
                reference: row.reference,
                version: parse_column("step_locks.version", &row.version)?,
                digest: parse_column("step_locks.digest", &row.digest)?,
            })
        });
        Ok(PageResult { rows: rows.collect::<Result<_, StoreError>>()?, total: Total::counted(total) })
    }
}
