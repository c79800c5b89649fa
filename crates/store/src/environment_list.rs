//! The environments of all pipelines of an organization, and the templates that further ones are made of.

use std::collections::HashMap;

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
    pub pipeline_slug: String,
    /// The template as the definition is stored.
    pub template: serde_json::Value,
}

impl Store {
    /// Returns the environments of pipelines that are not archived, ordered by the pipeline's slug and by
    /// name.
    pub async fn organization_environments(
        &self,
        organization: OrganizationId,
        filter: &EnvironmentFilter,
        page: Page,
    ) -> Result<PageResult<Environment>, StoreError> {
        let (pipeline, within) = (filter.pipeline.as_ref(), limit_ids(&filter.within));
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from environments e
                   where e.organization_id = $1
                     and e.pipeline_id in (select p.id from pipelines p
                         where p.organization_id = $1 and p.status <> 'archived' and ($2::uuid is null or p.id = $2)
                           and ($3::text is null or p.slug = $3) and ($4::uuid[] is null or p.id = any($4)))
                     and (e.listed or e.session_id is not null or e.waiters > 0 or e.slot_deployment_id is not null
                          or e.cleanup_retry_at is not null)
                     and ($5::text is null or strpos(lower(e.name), lower($5)) > 0
                          or strpos(lower(e.holder_name), lower($5)) > 0
                          or strpos(lower(array_to_string(e.labels, chr(10))), lower($5)) > 0)
                     and e.labels @> $6
                     and ($7::boolean is null or (e.session_id is not null) = $7 or e.expires_at <= clock_timestamp())
                     and ($8::uuid is null or e.holder_id = $8)
                   limit $9
               ) counted"#,
            organization.uuid(),
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            within.as_deref(),
            filter.text,
            &filter.labels,
            filter.is_held,
            filter.holder.map(UserId::uuid),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = environment_query!(
            "pipeline_id in (select p.id from pipelines p
                 where p.organization_id = $1 and p.status <> 'archived' and ($2::uuid is null or p.id = $2)
                   and ($3::text is null or p.slug = $3) and ($4::uuid[] is null or p.id = any($4)))
             and (listed or session_id is not null or waiters > 0 or slot_deployment_id is not null
                  or cleanup_retry_at is not null)
             and ($5::text is null or strpos(lower(name), lower($5)) > 0
                  or strpos(lower(holder_name), lower($5)) > 0
                  or strpos(lower(array_to_string(labels, chr(10))), lower($5)) > 0)
             and labels @> $6
             and ($7::boolean is null or (session_id is not null) = $7 or expires_at <= clock_timestamp())
             and ($8::uuid is null or holder_id = $8)
             order by (select p.slug from pipelines p where p.organization_id = $1 and p.id = pipeline_id), name
             limit $9 offset $10",
            organization.uuid(),
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            within.as_deref(),
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

    /// Returns the templates of pipelines that are not archived, ordered by the pipeline's slug and by their
    /// place in the definition. Only the conditions on the pipeline apply.
    pub async fn organization_templates(
        &self,
        organization: OrganizationId,
        filter: &EnvironmentFilter,
    ) -> Result<Vec<TemplateRecord>, StoreError> {
        let (pipeline, within) = (filter.pipeline.as_ref(), limit_ids(&filter.within));
        let rows = sqlx::query!(
            r#"select p.id, p.slug, t.template as "template!"
               from pipelines p
               join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                   and v.version = p.definition_version
               cross join lateral jsonb_array_elements(v.definition -> 'environmentTemplates')
                   with ordinality as t (template, place)
               where p.organization_id = $1 and p.status <> 'archived' and ($2::uuid is null or p.id = $2)
                 and ($3::text is null or p.slug = $3) and ($4::uuid[] is null or p.id = any($4))
               order by p.slug, t.place"#,
            organization.uuid(),
            pipeline.and_then(PipelineName::id),
            pipeline.and_then(PipelineName::slug),
            within.as_deref(),
        )
        .fetch_all(&self.pool())
        .await?;
        let templates = rows.into_iter().map(|row| TemplateRecord {
            pipeline_id: row.id.into(),
            pipeline_slug: row.slug,
            template: row.template,
        });
        Ok(templates.collect())
    }

    /// Returns the slugs of pipelines.
    pub async fn pipeline_slugs(
        &self,
        organization: OrganizationId,
        ids: &[PipelineId],
    ) -> Result<HashMap<PipelineId, String>, StoreError> {
        let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let rows = sqlx::query!(
            "select id, slug from pipelines where organization_id = $1 and id = any($2)",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(|row| (row.id.into(), row.slug)).collect())
    }
}
