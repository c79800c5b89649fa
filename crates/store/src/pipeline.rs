//! Pipelines and the versions of their definitions.

use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::pipeline::{Pipeline, PipelineStatus, PipelineVersion, State, Stop};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Name, Repository};

use crate::error::word;
use crate::page::{COUNTED, Listed, Page, Total};
use crate::{Command, Store, StoreError};

struct Row {
    id: uuid::Uuid,
    slug: String,
    name: String,
    repository: Option<String>,
    status: String,
    stop_mode: Option<String>,
    stop_reason: Option<String>,
    stopped_at: Option<jiff_sqlx::Timestamp>,
    stopped_by: Option<uuid::Uuid>,
    definition_version: i32,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl TryFrom<Row> for Pipeline {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let stop = match (row.stop_mode, row.stopped_at, row.stopped_by) {
            (Some(mode), Some(at), Some(by)) => Some(Stop {
                mode: word("pipelines.stop_mode", &mode)?,
                reason: row.stop_reason,
                at: at.to_jiff(),
                by: by.into(),
            }),
            _ => None,
        };
        Ok(Self {
            id: row.id.into(),
            slug: row.slug,
            name: row.name,
            repository: row.repository,
            status: word("pipelines.status", &row.status)?,
            stop,
            definition_version: row.definition_version,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        })
    }
}

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

/// What a client calls a pipeline by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineName {
    Id(PipelineId),
    Slug(Slug),
}

impl PipelineName {
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.parse().map(Self::Id).ok();
        id.or_else(|| text.parse().map(Self::Slug).ok())
    }

    pub(crate) fn id(&self) -> Option<uuid::Uuid> {
        match self {
            Self::Id(id) => Some(id.uuid()),
            Self::Slug(_) => None,
        }
    }

    pub(crate) fn slug(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Slug(slug) => Some(slug.as_str()),
        }
    }
}

/// A definition that has been checked, in its three forms.
#[derive(Clone, Debug)]
pub struct CheckedDefinition {
    pub source: String,
    pub definition: serde_json::Value,
    pub digest: String,
}

impl Store {
    /// The pipelines that are not archived, by slug. The total is the organization's counter.
    pub async fn pipelines(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<Listed<Pipeline>, StoreError> {
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
            // One row without a pipeline says the total of an empty page.
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
        Ok(Listed { rows: pipelines, total })
    }

    /// The pipelines of one status, by slug; archived ones are listed here only.
    pub async fn pipelines_of_status(
        &self,
        organization: OrganizationId,
        status: PipelineStatus,
        page: Page,
    ) -> Result<Listed<Pipeline>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from pipelines where organization_id = $1 and status = $2 limit $3
               ) counted"#,
            organization.uuid(),
            status.as_str(),
            COUNTED + 1,
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
        Ok(Listed { rows, total: Total::counted(total) })
    }

    /// By id, or by the slug of one that is not archived.
    pub async fn pipeline(
        &self,
        organization: OrganizationId,
        name: &PipelineName,
    ) -> Result<Option<Pipeline>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "select id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                    definition_version, revision, created_at, updated_at
             from pipelines
             where organization_id = $1 and (id = $2 or (slug = $3 and status <> 'archived'))",
            organization.uuid(),
            name.id(),
            name.slug(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(Pipeline::try_from).transpose()
    }

    /// Newest first. Versions are dense from 1, so their number is the newest one's.
    pub async fn pipeline_versions(
        &self,
        organization: OrganizationId,
        pipeline: &Pipeline,
        page: Page,
    ) -> Result<Listed<PipelineVersion>, StoreError> {
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
        Ok(Listed {
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

/// The fields that an edit may change.
#[derive(Clone, Debug)]
pub struct PipelineEdit<'a> {
    pub slug: &'a str,
    pub name: &'a str,
    pub repository: Option<&'a str>,
}

impl Command {
    /// Fails with [`StoreError::Taken`] of `pipelines_live_slug` if the slug is in use.
    pub async fn create_pipeline(
        &mut self,
        id: PipelineId,
        slug: &Slug,
        name: &Name,
        repository: Option<&Repository>,
        definition: &CheckedDefinition,
    ) -> Result<Pipeline, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "insert into pipelines (organization_id, id, slug, name, repository, definition_version)
             values ($1, $2, $3, $4, $5, 1)
             returning id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                       definition_version, revision, created_at, updated_at",
            organization,
            id.uuid(),
            slug.as_str(),
            name.as_str(),
            repository.map(Repository::as_str),
        )
        .fetch_one(self.connection())
        .await?;
        self.add_version(id, 1, definition).await?;
        self.count_pipelines(1).await?;
        row.try_into()
    }

    /// Reads it, without holding others up.
    pub async fn pipeline(&mut self, name: &PipelineName) -> Result<Option<Pipeline>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                    definition_version, revision, created_at, updated_at
             from pipelines
             where organization_id = $1 and (id = $2 or (slug = $3 and status <> 'archived'))",
            organization,
            name.id(),
            name.slug(),
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(Pipeline::try_from).transpose()
    }

    pub async fn pipeline_for_update(&mut self, name: &PipelineName) -> Result<Option<Pipeline>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                    definition_version, revision, created_at, updated_at
             from pipelines
             where organization_id = $1 and (id = $2 or (slug = $3 and status <> 'archived')) for update",
            organization,
            name.id(),
            name.slug(),
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(Pipeline::try_from).transpose()
    }

    /// The definition that is in force, as it was checked.
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

    pub async fn pipeline_digest(&mut self, pipeline: &Pipeline) -> Result<String, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            "select digest from pipeline_versions where organization_id = $1 and pipeline_id = $2 and version = $3",
            organization,
            pipeline.id.uuid(),
            pipeline.definition_version,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// The pipeline's row must be locked. With a definition it gets a new version.
    pub async fn edit_pipeline(
        &mut self,
        pipeline: &Pipeline,
        edit: &PipelineEdit<'_>,
        definition: Option<&CheckedDefinition>,
    ) -> Result<Pipeline, StoreError> {
        let organization = self.organization();
        let version = pipeline.definition_version + i32::from(definition.is_some());
        if let Some(definition) = definition {
            self.add_version(pipeline.id, version, definition).await?;
        }
        let row = sqlx::query_as!(
            Row,
            "update pipelines
             set slug = $3, name = $4, repository = $5, definition_version = $6,
                 revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                       definition_version, revision, created_at, updated_at",
            organization,
            pipeline.id.uuid(),
            edit.slug,
            edit.name,
            edit.repository,
            version,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Writes where the state machine led. The pipeline's row must be locked.
    pub async fn move_pipeline(
        &mut self,
        pipeline: &Pipeline,
        to: State,
        reason: Option<&str>,
    ) -> Result<Pipeline, StoreError> {
        let organization = self.organization();
        let mode = match to {
            State::Stopped(mode) => Some(mode.as_str()),
            State::Active | State::Archived => None,
        };
        let by = mode.map(|_| self.principal().user_id.uuid());
        if to == State::Archived && pipeline.state() != State::Archived {
            self.count_pipelines(-1).await?;
        }
        let row = sqlx::query_as!(
            Row,
            "update pipelines
             set status = $3, stop_mode = $4, stop_reason = $5, stopped_by = $6,
                 stopped_at = case when $4::text is null then null else clock_timestamp() end,
                 revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, slug, name, repository, status, stop_mode, stop_reason, stopped_at, stopped_by,
                       definition_version, revision, created_at, updated_at",
            organization,
            pipeline.id.uuid(),
            to.status().as_str(),
            mode,
            reason.filter(|_| mode.is_some()),
            by,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    async fn add_version(
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
        Ok(())
    }

    /// Last in its transaction, where it can be: the counter's row is the one that all of an organization's share.
    async fn count_pipelines(&mut self, change: i64) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update organization_totals set pipelines = pipelines + $2 where organization_id = $1",
            organization,
            change,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
