//! The environments of all pipelines of an organization, and the templates that further ones are made of.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId, UserId};
use greenroom_domain::token_grant::PipelineLimit;

use crate::environment::{Environment, environment_query};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::pipeline::PipelineName;
use crate::token_columns::limit_ids;
use crate::{Store, StoreError};

/// Conditions on environments. All conditions that are given have to match.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentFilter {
    /// A part of the name, of the holder's name or of a label, in any case.
    pub text: Option<String>,
    pub pipeline: Option<PipelineName>,
    /// Labels that the environment must have.
    pub labels: Vec<String>,
    pub is_held: Option<bool>,
    pub holder: Option<UserId>,
    /// Only environments of pipelines that the token has access to.
    pub within: PipelineLimit,
}

impl EnvironmentFilter {
    /// Returns whether the lock matches. The query also returns environments whose expired lease is not
    /// recorded yet; these are checked again after that.
    pub fn matches_lock(&self, environment: &Environment) -> bool {
        let holder = environment.lock.holder.as_ref();
        self.is_held.is_none_or(|is_held| is_held == holder.is_some())
            && self.holder.is_none_or(|user| holder.is_some_and(|holder| holder.user_id == user))
    }
}

/// A template of a pipeline's current definition.
#[derive(Clone, Debug)]
pub struct TemplateRecord {
    pub pipeline_id: PipelineId,
    /// The template as the definition is stored.
    pub template: serde_json::Value,
}

#[boxed_futures]
impl Store {
    /// Returns the ids and slugs of the pipelines whose environments are listed, ordered by slug: those that
    /// are not archived and match the filter.
    pub async fn listed_pipelines(
        &self,
        organization: OrganizationId,
        filter: &EnvironmentFilter,
    ) -> Result<Vec<(PipelineId, String)>, StoreError> {
        let (pipeline, within) = (filter.pipeline.as_ref(), limit_ids(&filter.within));
        let rows = sqlx::query!(
            "select id, slug from pipelines
             where organization_id = $1 and status <> 'archived' and ($2::uuid is null or id = $2)
               and ($3::text is null or slug = $3) and ($4::uuid[] is null or id = any($4))
             order by slug",
            organization.uuid(),
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            within.as_deref(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(|row| (row.id.into(), row.slug)).collect())
    }

    /// Returns the environments of these pipelines that match the filter, in the order of the pipelines, and
    /// by name.
    pub async fn environments_of_pipelines(
        &self,
        organization: OrganizationId,
        pipelines: &[PipelineId],
        filter: &EnvironmentFilter,
        page: Page,
    ) -> Result<PageResult<Environment>, StoreError> {
        let pipelines: Vec<uuid::Uuid> = pipelines.iter().map(|id| id.uuid()).collect();
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from environments
                   where organization_id = $1 and pipeline_id = any($2)
                     and (listed or session_id is not null or waiters > 0 or slot_deployment_id is not null
                          or cleanup_retry_at is not null)
                     and ($3::text is null or strpos(lower(name), lower($3)) > 0
                          or strpos(lower(holder_name), lower($3)) > 0
                          or strpos(lower(array_to_string(labels, chr(10))), lower($3)) > 0)
                     and labels @> $4
                     and ($5::boolean is null or (session_id is not null) = $5 or expires_at <= clock_timestamp())
                     and ($6::uuid is null or holder_id = $6)
                   limit $7
               ) counted"#,
            organization.uuid(),
            &pipelines,
            filter.text,
            &filter.labels,
            filter.is_held,
            filter.holder.map(UserId::uuid),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = environment_query!(
            "pipeline_id = any($2)
             and (listed or session_id is not null or waiters > 0 or slot_deployment_id is not null
                  or cleanup_retry_at is not null)
             and ($3::text is null or strpos(lower(name), lower($3)) > 0
                  or strpos(lower(holder_name), lower($3)) > 0
                  or strpos(lower(array_to_string(labels, chr(10))), lower($3)) > 0)
             and labels @> $4
             and ($5::boolean is null or (session_id is not null) = $5 or expires_at <= clock_timestamp())
             and ($6::uuid is null or holder_id = $6)
             order by array_position($2, pipeline_id), name
             limit $7 offset $8",
            organization.uuid(),
            &pipelines,
            filter.text,
            &filter.labels,
            filter.is_held,
            filter.holder.map(UserId::uuid),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(Environment::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns the templates in the current definitions of these pipelines, in the order of the pipelines,
    /// and by their place in the definition.
    pub async fn templates_of_pipelines(
        &self,
        organization: OrganizationId,
        pipelines: &[PipelineId],
    ) -> Result<Vec<TemplateRecord>, StoreError> {
        let pipelines: Vec<uuid::Uuid> = pipelines.iter().map(|id| id.uuid()).collect();
        let rows = sqlx::query!(
            r#"select p.id, t.template as "template!"
               from pipelines p
               join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                   and v.version = p.definition_version
               cross join jsonb_array_elements(v.definition -> 'environmentTemplates')
                   with ordinality as t (template, place)
               where p.organization_id = $1 and p.id = any($2)
               order by array_position($2, p.id), t.place"#,
            organization.uuid(),
            &pipelines,
        )
        .fetch_all(&self.pool())
        .await?;
        let templates =
            rows.into_iter().map(|row| TemplateRecord { pipeline_id: row.id.into(), template: row.template });
        Ok(templates.collect())
    }
}
