//! Lists of pipelines, restricted to those that a token has access to.

use greenroom_domain::id::OrganizationId;
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::token_grant::PipelineLimit;

use super::Row;
use crate::error::to_column;
use crate::page::{Page, PageResult, Total};
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

impl Store {
    /// Returns the pipelines within a token's limit that have the status, or all that are not archived,
    /// ordered by slug.
    pub async fn pipelines_within(
        &self,
        organization: OrganizationId,
        limit: &PipelineLimit,
        status: Option<PipelineStatus>,
        page: Page,
    ) -> Result<PageResult<Pipeline>, StoreError> {
        match (limit_ids(limit), status) {
            (None, None) => self.pipelines(organization, page).await,
            (None, Some(status)) => self.pipelines_of_status(organization, status, page).await,
            (Some(ids), status) => self.pipelines_of_ids(organization, &ids, status, page).await,
        }
    }

    /// Reads and counts all pipelines of a token's limit, because a limit contains only a few.
    async fn pipelines_of_ids(
        &self,
        organization: OrganizationId,
        ids: &[uuid::Uuid],
        status: Option<PipelineStatus>,
        page: Page,
    ) -> Result<PageResult<Pipeline>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "select id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                    definition_version, revision, created_at, updated_at
             from pipelines
             where organization_id = $1 and id = any($2)
               and (status = $3 or ($3::text is null and status <> 'archived'))
             order by slug, id",
            organization.uuid(),
            ids,
            status.map(PipelineStatus::as_str),
        )
        .fetch_all(&self.pool())
        .await?;
        let total = Total::exactly(rows.len() as i64);
        let (offset, limit) = (to_column("offset", page.offset)?, to_column("limit", page.limit)?);
        let rows = rows.into_iter().skip(offset).take(limit);
        Ok(PageResult { rows: rows.map(Pipeline::try_from).collect::<Result<_, _>>()?, total })
    }
}
