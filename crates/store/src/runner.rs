//! Runners, which execute jobs. The lookup of a request's runner is in `system/runner.rs`.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, PoolId, RunnerId};
use greenroom_domain::runner::RunnerStatus;
use greenroom_domain::token::TokenSecret;
use jiff::Timestamp;

use crate::{Command, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    pub id: RunnerId,
    pub name: String,
    pub pool: String,
    pub hint: String,
    pub version: Option<String>,
    pub status: RunnerStatus,
    /// The jobs that it runs, oldest first.
    pub jobs: Vec<RunnerJob>,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerJob {
    pub id: JobId,
    pub deployment_id: DeploymentId,
    pub stage: String,
    pub started_at: Option<Timestamp>,
}

struct Row {
    id: uuid::Uuid,
    name: String,
    pool: String,
    hint: String,
    version: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    last_seen_at: Option<jiff_sqlx::Timestamp>,
    revoked_at: Option<jiff_sqlx::Timestamp>,
    /// It has sent a request within the last minute. A request for a job waits for 30 seconds, and
    /// `last_seen_at` is written at most every 10 seconds.
    is_seen: Option<bool>,
    draining: bool,
}

impl From<Row> for Runner {
    fn from(row: Row) -> Self {
        let is_seen = row.is_seen == Some(true) && row.revoked_at.is_none();
        Self {
            status: RunnerStatus::of(is_seen, row.draining),
            jobs: Vec::new(),
            id: row.id.into(),
            name: row.name,
            pool: row.pool,
            hint: row.hint,
            version: row.version,
            created_at: row.created_at.to_jiff(),
            last_seen_at: row.last_seen_at.map(jiff_sqlx::Timestamp::to_jiff),
            revoked_at: row.revoked_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

#[boxed_futures]
impl Store {
    /// Returns all runners that are not revoked, ordered by name.
    pub async fn runners(&self, organization: OrganizationId) -> Result<Vec<Runner>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "select r.id, r.name, p.name as pool, r.hint, r.version, r.created_at, r.last_seen_at, r.revoked_at,
                    r.last_seen_at > clock_timestamp() - interval '60 seconds' as is_seen, r.draining
             from runners r join runner_pools p on p.organization_id = r.organization_id and p.id = r.pool_id
             where r.organization_id = $1 and r.revoked_at is null
             order by r.name, r.id limit 1000",
            organization.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        let mut jobs = self.running_jobs(organization).await?;
        let with_jobs = |row: Row| {
            let runner = Runner::from(row);
            Runner { jobs: jobs.remove(&runner.id).unwrap_or_default(), ..runner }
        };
        Ok(rows.into_iter().map(with_jobs).collect())
    }

    /// Returns the jobs that runners have, oldest first.
    async fn running_jobs(
        &self,
        organization: OrganizationId,
    ) -> Result<HashMap<RunnerId, Vec<RunnerJob>>, StoreError> {
        let rows = sqlx::query!(
            r#"select runner_id as "runner_id!", id, deployment_id, stage_key, started_at from jobs
               where organization_id = $1 and status = 'running' and runner_id is not null
               order by started_at, id limit 10000"#,
            organization.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        let mut jobs: HashMap<RunnerId, Vec<RunnerJob>> = HashMap::new();
        for row in rows {
            jobs.entry(row.runner_id.into()).or_default().push(RunnerJob {
                id: row.id.into(),
                deployment_id: row.deployment_id.into(),
                stage: row.stage_key,
                started_at: row.started_at.map(jiff_sqlx::Timestamp::to_jiff),
            });
        }
        Ok(jobs)
    }

    /// Updates `last_seen_at` of a runner, at most every 10 seconds.
    pub async fn record_runner_seen(
        &self,
        organization: OrganizationId,
        runner: RunnerId,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "update runners set last_seen_at = clock_timestamp()
             where organization_id = $1 and id = $2
               and (last_seen_at is null or last_seen_at < clock_timestamp() - interval '10 seconds')",
            organization.uuid(),
            runner.uuid(),
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Records that a runner requests a job: also its version, and that it is not draining.
    pub async fn record_runner_request(
        &self,
        organization: OrganizationId,
        runner: RunnerId,
        version: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "update runners
             set last_seen_at = clock_timestamp(), version = coalesce($3, version), draining = false
             where organization_id = $1 and id = $2
               and (last_seen_at is null or last_seen_at < clock_timestamp() - interval '10 seconds'
                   or version is distinct from coalesce($3, version) or draining)",
            organization.uuid(),
            runner.uuid(),
            version,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Records that a runner takes no more jobs. Its next request for a job revokes this.
    pub async fn record_runner_draining(
        &self,
        organization: OrganizationId,
        runner: RunnerId,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "update runners set draining = true where organization_id = $1 and id = $2 and not draining",
            organization.uuid(),
            runner.uuid(),
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}

/// A runner to create.
#[derive(Clone, Copy)]
pub struct NewRunner<'a> {
    pub id: RunnerId,
    pub secret: &'a TokenSecret,
    pub name: &'a str,
    /// The name of its pool.
    pub pool: &'a str,
    /// The id of the pool if this is its first runner.
    pub new_pool_id: PoolId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedRunner {
    pub runner: Runner,
    /// It was not revoked before.
    pub is_new: bool,
}

#[boxed_futures]
impl Command {
    /// Creates a runner in a pool. The pool is created with its first runner.
    pub async fn create_runner(&mut self, new: NewRunner<'_>) -> Result<Runner, StoreError> {
        let NewRunner { id, secret, name, pool, new_pool_id } = new;
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        let hash = secret.hash();
        let row = sqlx::query_as!(
            Row,
            r#"with named as (
                   insert into runner_pools (organization_id, id, name) values ($1, $3, $4)
                   on conflict (organization_id, name) do update set name = excluded.name
                   returning id, name
               )
               insert into runners (organization_id, id, pool_id, name, secret_hash, hint, created_by)
               select $1, $2, named.id, $5, $6, $7, $8 from named
               returning id, name, $4 as "pool!", hint, version, created_at, last_seen_at, revoked_at,
                         false as is_seen, draining"#,
            organization,
            id.uuid(),
            new_pool_id.uuid(),
            pool,
            name,
            hash.as_slice(),
            secret.hint(),
            user,
        )
        .fetch_one(self.connection())
        .await?;
        Ok(row.into())
    }

    /// Revokes a runner: it gets no more jobs, and loses those that it has. Idempotent.
    pub async fn revoke_runner(&mut self, id: RunnerId) -> Result<Option<RevokedRunner>, StoreError> {
        let organization = self.organization();
        let revoked = sqlx::query!(
            "update runners set revoked_at = clock_timestamp()
             where organization_id = $1 and id = $2 and revoked_at is null",
            organization,
            id.uuid(),
        )
        .execute(self.connection())
        .await?;
        let row = sqlx::query_as!(
            Row,
            "select r.id, r.name, p.name as pool, r.hint, r.version, r.created_at, r.last_seen_at, r.revoked_at,
                    false as is_seen, r.draining
             from runners r join runner_pools p on p.organization_id = r.organization_id and p.id = r.pool_id
             where r.organization_id = $1 and r.id = $2",
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(|row| RevokedRunner { runner: row.into(), is_new: revoked.rows_affected() > 0 }))
    }
}
