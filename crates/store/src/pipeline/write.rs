//! Creates and changes pipelines.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PipelineId;
use greenroom_domain::pipeline::{Pipeline, State};
use greenroom_domain::repository::Repository;
use greenroom_domain::slug::Slug;
use greenroom_domain::text::Name;

use super::{CheckedDefinition, PipelineEdit, Row};
use crate::{Command, StoreError};

#[boxed_futures]
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

    /// Edits a pipeline. With a definition, a new version is added. The pipeline's row must be locked.
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
        if definition.is_some() {
            // The new definition may allow more concurrent deployments.
            self.wake_queued_of_pipeline(pipeline.id).await?;
        }
        row.try_into()
    }

    /// Writes the new state of the pipeline's state machine. The pipeline's row must be locked.
    pub async fn set_pipeline_state(
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

    /// Updates the counter of pipelines. Call this last in a transaction where possible, because all commands
    /// of an organization share the counter's row.
    async fn count_pipelines(&mut self, delta: i64) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update organization_totals set pipelines = pipelines + $2 where organization_id = $1",
            organization,
            delta,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
