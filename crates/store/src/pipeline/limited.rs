//! Lists of pipelines, filtered and restricted to those that a token has access to.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::token_grant::PipelineLimit;

use super::Row;
use crate::error::to_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

/// Conditions on pipelines. All conditions that are given have to match.
#[derive(Clone, Debug, Default)]
pub struct PipelineFilter {
    /// `None` matches all that are not archived.
    pub status: Option<PipelineStatus>,
    /// A part of the name or of the slug, in any case.
    pub text: Option<String>,
    pub ids: Option<Vec<PipelineId>>,
    /// Only pipelines that the token has access to.
    pub within: PipelineLimit,
}

#[boxed_futures]
impl Store {
    /// Returns the pipelines that match the filter, ordered by slug.
    pub async fn filtered_pipelines(
        &self,
        organization: OrganizationId,
        filter: &PipelineFilter,
        page: Page,
    ) -> Result<PageResult<Pipeline>, StoreError> {
        if filter.text.is_some() || filter.ids.is_some() {
            return self.found_pipelines(organization, filter, page).await;
        }
        match (limit_ids(&filter.within), filter.status) {
            (None, None) => self.pipelines(organization, page).await,
            (None, Some(status)) => self.pipelines_of_status(organization, status, page).await,
            (Some(ids), status) => self.pipelines_of_ids(organization, &ids, status, page).await,
        }
    }

    async fn found_pipelines(
        &self,
        organization: OrganizationId,
        filter: &PipelineFilter,
        page: Page,
    ) -> Result<PageResult<Pipeline>, StoreError> {
        let within = limit_ids(&filter.within);
        let ids: Option<Vec<uuid::Uuid>> =
            filter.ids.as_ref().map(|ids| ids.iter().map(|id| id.uuid()).collect());
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from pipelines
                   where organization_id = $1 and (status = $2 or ($2::text is null and status <> 'archived'))
                     and ($3::text is null or strpos(lower(name), lower($3)) > 0 or strpos(slug, lower($3)) > 0)
                     and ($4::uuid[] is null or id = any($4)) and ($5::uuid[] is null or id = any($5))
                   limit $6
               ) counted"#,
            organization.uuid(),
            filter.status.map(PipelineStatus::as_str),
            filter.text,
            ids.as_deref(),
            within.as_deref(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                    definition_version, revision, created_at, updated_at
             from pipelines
             where organization_id = $1 and (status = $2 or ($2::text is null and status <> 'archived'))
               and ($3::text is null or strpos(lower(name), lower($3)) > 0 or strpos(slug, lower($3)) > 0)
               and ($4::uuid[] is null or id = any($4)) and ($5::uuid[] is null or id = any($5))
             order by slug, id limit $6 offset $7",
            organization.uuid(),
            filter.status.map(PipelineStatus::as_str),
            filter.text,
            ids.as_deref(),
            within.as_deref(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(Pipeline::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns the repository of each pipeline that has one, also of archived pipelines.
    pub async fn repositories(
        &self,
        organization: OrganizationId,
    ) -> Result<Vec<(PipelineId, String)>, StoreError> {
        let rows = sqlx::query!(
            r#"select id, repository as "repository!" from pipelines
               where organization_id = $1 and repository is not null"#,
            organization.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(|row| (row.id.into(), row.repository)).collect())
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
