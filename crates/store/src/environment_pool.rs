//! Environment pools: the named environments of a pipeline with given labels, any of which satisfies a claim.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, PipelineId};
use sqlx::Connection;

use crate::StoreError;
use crate::environment::{Environment, environment_query};
use crate::lock::LockedEnvironment;
use crate::transaction::OrgTransaction;

/// Which environments satisfy a claim.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentPool<'a> {
    pub pipeline: PipelineId,
    /// Labels that the environment must have.
    pub labels: &'a [String],
    /// The environment must allow a lease of this length.
    pub ttl_seconds: Option<i64>,
}

#[boxed_futures]
impl OrgTransaction {
    /// Locks the row of a free environment, preferably the one that was claimed longest ago. Returns `None`
    /// if none is free.
    pub async fn lock_free(
        &mut self,
        pool: EnvironmentPool<'_>,
    ) -> Result<Option<LockedEnvironment>, StoreError> {
        let mut found = self.take_first_free(pool).await?;
        if found.is_none() {
            // A concurrent transaction may have locked a free environment's row without claiming it, for
            // example a sweep. Wait for these rows, one at a time and without other locks, so that two
            // transactions that do this can't deadlock.
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

    /// Locks the first free environment, and skips rows that are locked by others: most likely these are
    /// being claimed.
    async fn take_first_free(
        &mut self,
        pool: EnvironmentPool<'_>,
    ) -> Result<Option<EnvironmentId>, StoreError> {
        let organization = self.organization();
        // A savepoint, because a row that turns out to be taken stays locked until the end of the savepoint.
        let mut savepoint = self.connection().begin().await?;
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
        .fetch_optional(&mut *savepoint)
        .await?;
        if found.is_some() {
            savepoint.commit().await?;
        } else {
            savepoint.rollback().await?;
        }
        Ok(found.map(EnvironmentId::from))
    }

    async fn free(&mut self, pool: EnvironmentPool<'_>) -> Result<Vec<EnvironmentId>, StoreError> {
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
        let mut savepoint = self.connection().begin().await?;
        let found = sqlx::query_scalar!(
            "select id from environments
             where organization_id = $1 and id = $2
               and waiters = 0 and (session_id is null or expires_at <= clock_timestamp())
             for update",
            organization,
            id.uuid(),
        )
        .fetch_optional(&mut *savepoint)
        .await?;
        if found.is_some() {
            savepoint.commit().await?;
        } else {
            savepoint.rollback().await?;
        }
        Ok(found.is_some())
    }

    /// Returns all environments of a pool. Those that are expected to become free first come first.
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
