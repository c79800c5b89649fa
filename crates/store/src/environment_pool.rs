//! Pools: the named environments of a pipeline that have the same labels, of which any will do.

use greenroom_domain::id::{EnvironmentId, PipelineId};
use sqlx::Connection;

use crate::StoreError;
use crate::change::Change;
use crate::environment::{Environment, environment_query};
use crate::lock::LockedEnvironment;

/// Which environments would do.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    pub pipeline: PipelineId,
    /// All of them.
    pub labels: &'a [String],
    /// They must allow a lease of this length.
    pub ttl_seconds: Option<i64>,
}

impl Change {
    /// Takes the row of a free environment, of those the one that was claimed longest ago. `None`: none is free.
    pub async fn lock_free(&mut self, pool: Pool<'_>) -> Result<Option<LockedEnvironment>, StoreError> {
        let mut found = self.take_first_free(pool).await?;
        if found.is_none() {
            // Somebody may have had a free one's row without wanting the lock, such as a look or a sweep. Wait for those,
            // one at a time and holding no other, so that two who do this can't wait for each other.
            for candidate in self.free(pool).await? {
                if self.take_if_free(candidate).await? {
                    found = Some(candidate);
                    break;
                }
            }
        }
        match found {
            Some(id) => self.lock_environment_by_id(id).await,
            None => Ok(None),
        }
    }

    /// Past the rows that others have at this moment: most likely they are claiming them, and the next one is free too.
    async fn take_first_free(&mut self, pool: Pool<'_>) -> Result<Option<EnvironmentId>, StoreError> {
        let organization = self.organization();
        // A row that turns out to be taken stays locked to the end of the step that looked at it.
        let mut step = self.connection().begin().await?;
        let found = sqlx::query_scalar!(
            "select id from environments
             where organization_id = $1 and pipeline_id = $2 and listed and template is null and labels @> $3
               and ($4::bigint is null or longest_lease_seconds >= $4)
               and waiters = 0 and (session_id is null or expires_at <= clock_timestamp())
             order by used_at nulls first, name limit 1 for update skip locked",
            organization,
            pool.pipeline.uuid(),
            pool.labels,
            pool.ttl_seconds,
        )
        .fetch_optional(&mut *step)
        .await?;
        if found.is_some() {
            step.commit().await?;
        } else {
            step.rollback().await?;
        }
        Ok(found.map(EnvironmentId::from))
    }

    async fn free(&mut self, pool: Pool<'_>) -> Result<Vec<EnvironmentId>, StoreError> {
        let organization = self.organization();
        let ids = sqlx::query_scalar!(
            "select id from environments
             where organization_id = $1 and pipeline_id = $2 and listed and template is null and labels @> $3
               and ($4::bigint is null or longest_lease_seconds >= $4)
               and waiters = 0 and (session_id is null or expires_at <= clock_timestamp())
             order by used_at nulls first, name",
            organization,
            pool.pipeline.uuid(),
            pool.labels,
            pool.ttl_seconds,
        )
        .fetch_all(self.connection())
        .await?;
        Ok(ids.into_iter().map(EnvironmentId::from).collect())
    }

    async fn take_if_free(&mut self, id: EnvironmentId) -> Result<bool, StoreError> {
        let organization = self.organization();
        let mut step = self.connection().begin().await?;
        let found = sqlx::query_scalar!(
            "select id from environments
             where organization_id = $1 and id = $2
               and waiters = 0 and (session_id is null or expires_at <= clock_timestamp())
             for update",
            organization,
            id.uuid(),
        )
        .fetch_optional(&mut *step)
        .await?;
        if found.is_some() {
            step.commit().await?;
        } else {
            step.rollback().await?;
        }
        Ok(found.is_some())
    }

    /// Every environment of a pool, the one that comes free first at the front, as far as that can be said.
    pub async fn pool_environments(
        &mut self,
        pipeline: PipelineId,
        labels: &[String],
    ) -> Result<Vec<Environment>, StoreError> {
        let organization = self.organization();
        let rows = environment_query!(
            "pipeline_id = $2 and listed and template is null and labels @> $3
             order by waiters, expires_at nulls first, name",
            organization,
            pipeline.uuid(),
            labels,
        )
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(Environment::try_from).collect()
    }
}
