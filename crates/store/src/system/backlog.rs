//! How much work waits in the whole installation, for metrics. Both queries read small indexes only, and stop counting
//! at `MAX_COUNTED`, so that a backlog does not make its own measurement slow.

use greenroom_boxed_futures::boxed_futures;

use crate::{Store, StoreError};

/// More rows than these are not counted.
const MAX_COUNTED: i64 = 100_000;

/// The jobs that wait for a runner, in all pools of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingJobs {
    pub pool: String,
    pub jobs: i64,
    /// 0 if none waits.
    pub oldest_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Sessions in the queues of environments.
    pub sessions: i64,
    /// Wake-ups that the engine has not accepted.
    pub wake_ups: i64,
    /// Objects to remove.
    pub object_removals: i64,
    /// Failures whose evidence is to be collected.
    pub evidence: i64,
    /// Fixes that are to be continued.
    pub fixes: i64,
}

#[boxed_futures]
impl Store {
    /// Returns the waiting jobs of up to `limit` pools: first of those that have a runner, since members can create
    /// pools without one by naming them.
    pub async fn waiting_jobs(&self, limit: i64) -> Result<Vec<WaitingJobs>, StoreError> {
        Ok(sqlx::query_as!(
            WaitingJobs,
            r#"with queued as materialized (
                   select organization_id, pool_id, count(*) as jobs, min(queued_at) as oldest
                   from (select organization_id, pool_id, queued_at from jobs where status = 'queued' limit $2) j
                   group by organization_id, pool_id
               )
               select p.name as "pool!", coalesce(sum(q.jobs), 0)::bigint as "jobs!",
                      greatest(coalesce(extract(epoch from clock_timestamp() - min(q.oldest)), 0), 0)::float8
                          as "oldest_seconds!"
               from runner_pools p
               left join queued q on q.organization_id = p.organization_id and q.pool_id = p.id
               group by p.name
               order by bool_or(exists (select 1 from runners r where r.organization_id = p.organization_id
                            and r.pool_id = p.id and r.revoked_at is null)) desc,
                        coalesce(sum(q.jobs), 0) desc, p.name
               limit $1"#,
            limit,
            MAX_COUNTED,
        )
        .fetch_all(&self.pool())
        .await?)
    }

    /// Returns what is to be done. The time is the statement's, because an index can be searched by that.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        Ok(sqlx::query_as!(
            Backlog,
            r#"select (select count(*) from (select 1 from sessions where waiting limit $1) s) as "sessions!",
                      (select count(*) from (select 1 from wakes limit $1) w) as "wake_ups!",
                      (select count(*) from (select 1 from discarded_objects where due_at <= statement_timestamp()
                           limit $1) o) as "object_removals!",
                      (select count(*) from (select 1 from failures where due_at <= statement_timestamp()
                           limit $1) f) as "evidence!",
                      (select count(*) from (select 1 from fixes where due_at <= statement_timestamp()
                           limit $1) x) as "fixes!""#,
            MAX_COUNTED,
        )
        .fetch_one(&self.pool())
        .await?)
    }
}
