//! Reads pipelines.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};

use super::{PipelineName, Row};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// Selects a pipeline by id, or by slug if it is not archived.
macro_rules! named_query {
    ($end:literal, $organization:expr, $name:expr) => {
        sqlx::query_as!(
            Row,
            "select id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                    definition_version, revision, created_at, updated_at
             from pipelines
             where organization_id = $1 and (id = $2 or (slug = $3 and status <> 'archived'))"
                + $end,
            $organization,
            $name.id(),
            $name.slug(),
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the pipelines that are not archived, ordered by slug. The total is the organization's counter.
    pub(super) async fn pipelines(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<PageResult<Pipeline>, StoreError> {
        let rows = sqlx::query!(
            r#"select t.pipelines as total, p.id as "id?", p.slug as "slug?", p.name as "name?", p.repository,
                      p.status as "status?", p.stop_mode, p.stop_reason, p.stopped_at, p.stopped_by,
                      p.definition_version as "definition_version?", p.revision as "revision?",
                      p.created_at as "created_at?", p.updated_at as "updated_at?"
               from organization_totals t
               left join lateral (
                   select * from pipelines
                   where organization_id = t.organization_id and status <> 'archived' and t.pipelines > $3
                   order by slug limit $2 offset $3
               ) p on true
               where t.organization_id = $1
               order by p.slug"#,
            organization.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let total = Total::exactly(rows.first().map_or(0, |row| row.total));
        let mut pipelines = Vec::with_capacity(rows.len());
        for row in rows {
            // An empty page is one row without a pipeline, which holds the total.
            let (Some(id), Some(slug), Some(name), Some(status)) = (row.id, row.slug, row.name, row.status)
            else {
                continue;
            };
            let (Some(definition_version), Some(revision), Some(created_at), Some(updated_at)) =
                (row.definition_version, row.revision, row.created_at, row.updated_at)
            else {
                continue;
            };
            pipelines.push(Pipeline::try_from(Row {
                id,
                slug,
                name,
                repository: row.repository,
                status,
                stop_mode: row.stop_mode,
                stop_reason: row.stop_reason,
                stopped_at: row.stopped_at,
                stopped_by: row.stopped_by,
                definition_version,
                revision,
                created_at,
                updated_at,
            })?);
        }
        Ok(PageResult { rows: pipelines, total })
    }

    /// Returns the pipelines of one status, ordered by slug. Archived pipelines are listed only here.
    pub(super) async fn pipelines_of_status(
        &self,
        organization: OrganizationId,
        status: PipelineStatus,
        page: Page,
    ) -> Result<PageResult<Pipeline>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from pipelines where organization_id = $1 and status = $2 limit $3
               ) counted"#,
            organization.uuid(),
            status.as_str(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                    definition_version, revision, created_at, updated_at
             from pipelines where organization_id = $1 and status = $2
             order by slug, id limit $3 offset $4",
            organization.uuid(),
            status.as_str(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(Pipeline::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    pub async fn pipeline(
        &self,
        organization: OrganizationId,
        name: &PipelineName,
    ) -> Result<Option<Pipeline>, StoreError> {
        let row = named_query!("", organization.uuid(), name).fetch_optional(&self.pool()).await?;
        row.map(Pipeline::try_from).transpose()
    }
}

#[boxed_futures]
impl Command {
    /// Reads a pipeline without locking its row.
    pub async fn pipeline(&mut self, name: &PipelineName) -> Result<Option<Pipeline>, StoreError> {
        let organization = self.organization();
        let row = named_query!("", organization, name).fetch_optional(self.connection()).await?;
        row.map(Pipeline::try_from).transpose()
    }

    pub async fn pipeline_for_update(&mut self, name: &PipelineName) -> Result<Option<Pipeline>, StoreError> {
        let organization = self.organization();
        let row = named_query!(" for update", organization, name).fetch_optional(self.connection()).await?;
        row.map(Pipeline::try_from).transpose()
    }
}
