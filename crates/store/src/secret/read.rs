//! Reads secrets for the API.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId, SecretId};

use super::{Row, SecretFilter, SecretRecord};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::token_columns::limit_ids;
use crate::{Command, Store, StoreError};

/// Selects the secret `$2` of organization `$1`.
macro_rules! secret_query {
    ($end:literal, $organization:expr, $id:expr) => {
        sqlx::query_as!(
            Row,
            "select s.id, s.name, s.pipeline_id, s.environment, s.description, s.policy, s.usage, s.active_version,
                    s.newest_version, s.revision, s.created_at, s.created_by, s.updated_at, s.deleted_at
             from secrets s where s.organization_id = $1 and s.id = $2" + $end,
            $organization,
            $id,
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the secrets that are not deleted, ordered by name, then by scope: broader ones first.
    pub async fn secrets(
        &self,
        organization: OrganizationId,
        filter: &SecretFilter,
        page: Page,
    ) -> Result<PageResult<SecretRecord>, StoreError> {
        let within = limit_ids(&filter.within);
        let pipeline = filter.pipeline.map(PipelineId::uuid);
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from secrets
                   where organization_id = $1 and deleted_at is null
                     and ($2::uuid[] is null or pipeline_id = any($2)) and ($3::uuid is null or pipeline_id = $3)
                     and ($4::text is null or name = $4)
                   limit $5
               ) counted"#,
            organization.uuid(),
            within.as_deref() as Option<&[uuid::Uuid]>,
            pipeline,
            filter.name,
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select id, name, pipeline_id, environment, description, policy, usage, active_version, newest_version,
                    revision, created_at, created_by, updated_at, deleted_at
             from secrets
             where organization_id = $1 and deleted_at is null
               and ($2::uuid[] is null or pipeline_id = any($2)) and ($3::uuid is null or pipeline_id = $3)
               and ($4::text is null or name = $4)
             order by name, pipeline_id nulls first, environment nulls first limit $5 offset $6",
            organization.uuid(),
            within.as_deref() as Option<&[uuid::Uuid]>,
            pipeline,
            filter.name,
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(SecretRecord::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns a secret, also if it was deleted.
    pub async fn secret(
        &self,
        organization: OrganizationId,
        id: SecretId,
    ) -> Result<Option<SecretRecord>, StoreError> {
        let row = secret_query!("", organization.uuid(), id.uuid()).fetch_optional(&self.pool()).await?;
        row.map(SecretRecord::try_from).transpose()
    }
}

#[boxed_futures]
impl Command {
    pub async fn secret_for_update(&mut self, id: SecretId) -> Result<Option<SecretRecord>, StoreError> {
        let organization = self.organization();
        let row = secret_query!(" for update of s", organization, id.uuid())
            .fetch_optional(self.connection())
            .await?;
        row.map(SecretRecord::try_from).transpose()
    }
}
