//! The versions of a pipeline's definition. They are immutable.

use std::sync::Arc;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::Definition;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::pipeline::{Pipeline, PipelineVersion};

use super::CheckedDefinition;
use crate::page::{Page, PageResult, Total};
use crate::transaction::OrgTransaction;
use crate::{Command, Store, StoreError};

struct VersionRow {
    version: i32,
    source: String,
    digest: String,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    created_by_name: String,
}

impl From<VersionRow> for PipelineVersion {
    fn from(row: VersionRow) -> Self {
        Self {
            version: row.version,
            source: row.source,
            digest: row.digest,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            created_by_name: row.created_by_name,
        }
    }
}

#[boxed_futures]
impl Store {
    /// Returns the versions, newest first. They are numbered from 1 without gaps, so the newest number is the
    /// total.
    pub async fn pipeline_versions(
        &self,
        organization: OrganizationId,
        pipeline: &Pipeline,
        page: Page,
    ) -> Result<PageResult<PipelineVersion>, StoreError> {
        let rows = sqlx::query_as!(
            VersionRow,
            "select v.version, v.source, v.digest, v.created_at, v.created_by, m.name as created_by_name
             from pipeline_versions v
             join memberships m on m.organization_id = v.organization_id and m.user_id = v.created_by
             where v.organization_id = $1 and v.pipeline_id = $2
             order by v.version desc limit $3 offset $4",
            organization.uuid(),
            pipeline.id.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(PageResult {
            rows: rows.into_iter().map(PipelineVersion::from).collect(),
            total: Total::exactly(i64::from(pipeline.definition_version)),
        })
    }

    pub async fn pipeline_version(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
        version: i32,
    ) -> Result<Option<PipelineVersion>, StoreError> {
        let row = sqlx::query_as!(
            VersionRow,
            "select v.version, v.source, v.digest, v.created_at, v.created_by, m.name as created_by_name
             from pipeline_versions v
             join memberships m on m.organization_id = v.organization_id and m.user_id = v.created_by
             where v.organization_id = $1 and v.pipeline_id = $2 and v.version = $3",
            organization.uuid(),
            pipeline.uuid(),
            version,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(PipelineVersion::from))
    }
}

#[boxed_futures]
impl Command {
    /// Returns the checked form of the current definition.
    pub async fn pipeline_definition(
        &mut self,
        pipeline: &Pipeline,
    ) -> Result<serde_json::Value, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            "select definition from pipeline_versions where organization_id = $1 and pipeline_id = $2 and version = $3",
            organization,
            pipeline.id.uuid(),
            pipeline.definition_version,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Returns the text of the current definition.
    pub async fn pipeline_source(&mut self, pipeline: &Pipeline) -> Result<String, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            "select source from pipeline_versions where organization_id = $1 and pipeline_id = $2 and version = $3",
            organization,
            pipeline.id.uuid(),
            pipeline.definition_version,
        )
        .fetch_one(self.connection())
        .await?)
    }

    pub(super) async fn add_version(
        &mut self,
        pipeline: PipelineId,
        version: i32,
        definition: &CheckedDefinition,
    ) -> Result<(), StoreError> {
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        sqlx::query!(
            "insert into pipeline_versions
                 (organization_id, pipeline_id, version, source, definition, digest, created_by)
             values ($1, $2, $3, $4, $5, $6, $7)",
            organization,
            pipeline.uuid(),
            version,
            definition.source,
            definition.definition,
            definition.digest,
            user,
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "insert into lasting_environments (organization_id, pipeline_id, name)
             select $1, $2, environment ->> 'name' from jsonb_array_elements($3::jsonb -> 'environments') environment
             on conflict do nothing",
            organization,
            pipeline.uuid(),
            definition.definition,
        )
        .execute(self.connection())
        .await?;
        if !definition.lock.is_empty() {
            self.write_step_lock(pipeline, version, &definition.lock).await?;
        }
        Ok(())
    }
}

#[boxed_futures]
impl OrgTransaction {
    pub async fn current_definition(&mut self, pipeline: &Pipeline) -> Result<Arc<Definition>, StoreError> {
        self.definition_of(pipeline.id, pipeline.definition_version).await
    }
}
