//! Runner pools. A pool is created when a runner or a stage first names it.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId, PoolId};
use greenroom_domain::runner_pool::{Network, Restriction};

use crate::deployment::restriction;
use crate::error::parse_column;
use crate::token_columns::limit_ids;
use crate::{Command, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerPoolRecord {
    pub id: PoolId,
    pub name: String,
    pub network: Network,
    pub restriction: Restriction,
    pub revision: i64,
    /// The number of runners that are not revoked.
    pub runners: i64,
    /// The numbers of queued and running jobs.
    pub queued: i64,
    pub running: i64,
}

struct Row {
    id: uuid::Uuid,
    name: String,
    network: String,
    pipelines: Option<Vec<uuid::Uuid>>,
    environments: Option<Vec<String>>,
    revision: i64,
    runners: i64,
    queued: i64,
    running: i64,
}

impl TryFrom<Row> for RunnerPoolRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            name: row.name,
            network: parse_column("runner_pools.network", &row.network)?,
            restriction: restriction(row.pipelines, row.environments),
            revision: row.revision,
            runners: row.runners,
            queued: row.queued,
            running: row.running,
        })
    }
}

/// Selects all pools of organization `$1`, or the one with the name `$2`, with their numbers of runners and
/// jobs.
macro_rules! pool_query {
    ($end:literal, $organization:expr, $name:expr) => {
        sqlx::query_as!(
            Row,
            r#"select p.id, p.name, p.network, p.pipelines, p.environments, p.revision,
                      (select count(*) from runners r where r.organization_id = $1 and r.pool_id = p.id
                           and r.revoked_at is null) as "runners!",
                      (select count(*) from jobs j where j.organization_id = $1 and j.pool_id = p.id
                           and j.status = 'queued') as "queued!",
                      (select count(*) from jobs j where j.organization_id = $1 and j.pool_id = p.id
                           and j.status = 'running') as "running!"
               from runner_pools p
               where p.organization_id = $1 and ($2::text is null or p.name = $2) order by p.name limit 1000"#
                + $end,
            $organization,
            $name,
        )
    };
}

#[boxed_futures]
impl Store {
    pub async fn runner_pools(
        &self,
        organization: OrganizationId,
    ) -> Result<Vec<RunnerPoolRecord>, StoreError> {
        let rows = pool_query!("", organization.uuid(), None::<&str>).fetch_all(&self.pool()).await?;
        rows.into_iter().map(RunnerPoolRecord::try_from).collect()
    }

    /// Returns the pools that do not take all jobs, by name.
    pub async fn restricted_pools(
        &self,
        organization: OrganizationId,
    ) -> Result<HashMap<String, Restriction>, StoreError> {
        self.system_transaction(organization).await?.restricted_pools().await
    }

    pub async fn runner_pool(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<RunnerPoolRecord>, StoreError> {
        let row = pool_query!("", organization.uuid(), Some(name)).fetch_optional(&self.pool()).await?;
        row.map(RunnerPoolRecord::try_from).transpose()
    }
}

#[boxed_futures]
impl Command {
    pub async fn runner_pool_for_update(
        &mut self,
        name: &str,
    ) -> Result<Option<RunnerPoolRecord>, StoreError> {
        let organization = self.organization();
        let row = pool_query!(" for update of p", organization, Some(name))
            .fetch_optional(self.connection())
            .await?;
        row.map(RunnerPoolRecord::try_from).transpose()
    }

    /// Changes the settings of a pool, for jobs that are assigned from now on. Returns the new revision.
    pub async fn set_pool(
        &mut self,
        pool: PoolId,
        network: Network,
        restriction: &Restriction,
    ) -> Result<i64, StoreError> {
        let organization = self.organization();
        let revision = sqlx::query_scalar!(
            "update runner_pools set network = $3, pipelines = $4, environments = $5, revision = revision + 1
             where organization_id = $1 and id = $2 returning revision",
            organization,
            pool.uuid(),
            network.as_str(),
            limit_ids(&restriction.pipelines) as Option<Vec<uuid::Uuid>>,
            restriction.environments.as_deref() as Option<&[String]>,
        )
        .fetch_one(self.connection())
        .await?;
        Ok(revision)
    }

    /// Returns the first of these pools, ordered by name, that is restricted to other pipelines.
    pub async fn pool_of_other_pipelines(
        &mut self,
        pools: &[String],
        pipeline: PipelineId,
    ) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        let found = sqlx::query_scalar!(
            "select name from runner_pools
             where organization_id = $1 and name = any($2) and pipelines is not null and not ($3 = any(pipelines))
             order by name limit 1",
            organization,
            pools,
            pipeline.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(found)
    }
}
