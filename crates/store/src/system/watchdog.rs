//! The watchdog: finds deployments that could continue but that the engine has not advanced. It scans the
//! live deployments of all organizations in batches, in the order of their ids. It records in `engine_waits`
//! which of them wait and since when, and wakes up those that have waited for over a minute. It changes
//! nothing else, and several daemons may run it concurrently.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId};

use crate::deployment::final_statuses::query_with_final_statuses;
use crate::{Store, StoreError};

/// The result of scanning one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanBatch {
    /// Where the next batch begins, or `None` if this one has reached the end.
    pub next: Option<DeploymentId>,
    /// The total number of deployments that have waited for over a minute.
    pub overdue: i64,
}

/// A deployment that was woken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverdueDeployment {
    pub organization_id: OrganizationId,
    pub deployment_id: DeploymentId,
    pub waited_seconds: i64,
}

#[boxed_futures]
impl Store {
    /// Scans up to `batch` live deployments with ids above `after`.
    ///
    /// A deployment waits for the engine in these cases:
    /// - It is queued and could start (it has the work slot of its environment, and its pipeline is active
    ///   and below its concurrency limit), or it is canceled.
    /// - It waited for the limit of its pipeline, and there is room.
    /// - It is running, and one of its jobs has ended or a retry is due, but the stage was not advanced.
    /// - A stage waits to begin in a lasting environment, although it has the work slot or the hold or freeze is over.
    pub async fn scan_engine_waits(
        &self,
        after: Option<DeploymentId>,
        batch: i64,
    ) -> Result<ScanBatch, StoreError> {
        let row = query_with_final_statuses!(
            sqlx::query,
            [r#"with looked as materialized (
                   select d.organization_id, d.id, d.pipeline_id, d.environment_id, d.status, d.purpose, d.cancel_reason
                   from deployments d
                   where d.status not in "#, r#"
                     and d.id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)
                   order by d.id limit $2
               ),
               ready as materialized (
                   select l.organization_id, l.id, l.pipeline_id, l.purpose from looked l
                   join pipelines p on p.organization_id = l.organization_id and p.id = l.pipeline_id
                   left join environments e on e.organization_id = l.organization_id and e.id = l.environment_id
                   where (l.status = 'queued' and (l.environment_id is null or e.slot_deployment_id = l.id)
                          or l.status = 'waiting' and exists (select 1 from stages s
                              where s.organization_id = l.organization_id and s.deployment_id = l.id
                                and s.status = 'waiting' and s.blocker ->> 'kind' = 'concurrency'))
                     and l.cancel_reason is null
                     and (l.purpose = 'teardown' or l.status = 'waiting' or p.status = 'active')
               ),
               limits as materialized (
                   select r.organization_id, r.pipeline_id, r.purpose, (v.definition ->> 'concurrency')::bigint as most
                   from (select distinct organization_id, pipeline_id, purpose from ready where purpose <> 'teardown') r
                   join pipelines p on p.organization_id = r.organization_id and p.id = r.pipeline_id
                   join pipeline_versions v on v.organization_id = r.organization_id and v.pipeline_id = r.pipeline_id
                    and v.version = p.definition_version
               ),
               admitted as materialized (
                   select l.organization_id, next.id from limits l
                   cross join lateral (
                       select d.id from deployments d
                       left join environments e on e.organization_id = l.organization_id and e.id = d.environment_id
                       where d.organization_id = l.organization_id and d.pipeline_id = l.pipeline_id
                         and d.purpose = l.purpose and d.cancel_reason is null
                         and (d.status = 'queued' and (d.environment_id is null or e.slot_deployment_id = d.id)
                              or d.status = 'waiting' and exists (select 1 from stages s
                                  where s.organization_id = d.organization_id and s.deployment_id = d.id
                                    and s.status = 'waiting' and s.blocker ->> 'kind' = 'concurrency'))
                       order by d.id
                       limit greatest(l.most - (select count(*) from deployments o
                           where o.organization_id = l.organization_id and o.pipeline_id = l.pipeline_id
                             and o.purpose = l.purpose and o.status in ('running', 'paused', 'canceling')), 0)
                   ) next
                   where l.most is not null
               ),
               waiting as materialized (
                   select r.organization_id, r.id from ready r
                   left join limits l on l.organization_id = r.organization_id and l.pipeline_id = r.pipeline_id
                    and l.purpose = r.purpose
                   where r.purpose = 'teardown' or l.most is null
                      or exists (select 1 from admitted a where a.organization_id = r.organization_id and a.id = r.id)
                   union all
                   select l.organization_id, l.id from looked l where l.status = 'queued' and l.cancel_reason is not null
                   union all
                   select l.organization_id, l.id from looked l
                   where l.status in ('running', 'waiting', 'canceling') and exists (
                       select 1 from stages s
                       left join jobs j on j.organization_id = s.organization_id and j.deployment_id = s.deployment_id
                        and j.stage_key = s.key and j.attempt = s.attempt
                       where s.organization_id = l.organization_id and s.deployment_id = l.id
                         and (s.status in ('queued', 'running') and j.ended_at is not null
                              or s.status = 'pending' and s.retry_at <= clock_timestamp() and l.cancel_reason is null
                              or s.status = 'waiting' and ((s.blocker ->> 'until')::timestamptz <= clock_timestamp()
                                  or exists (select 1 from lasting_environments e
                                      where e.organization_id = l.organization_id and e.pipeline_id = l.pipeline_id
                                        and e.name = s.environment and e.slot_deployment_id = l.id
                                        and not e.slot_has_begun))))
               ),
               noted as (
                   insert into engine_waits (organization_id, deployment_id) select organization_id, id from waiting
                   order by organization_id, id on conflict do nothing
               ),
               over as (
                   delete from engine_waits w where not exists (
                           select 1 from waiting where waiting.organization_id = w.organization_id
                             and waiting.id = w.deployment_id)
                     and (exists (select 1 from looked where looked.organization_id = w.organization_id
                             and looked.id = w.deployment_id)
                          or not exists (select 1 from deployments d where d.organization_id = w.organization_id
                             and d.id = w.deployment_id
                             and d.status not in "#, r#"))
                   returning w.deployment_id, w.since
               )
               select (select count(*) from looked) as "looked!", (select max(id::text)::uuid from looked) as last,
                      (select count(*) from engine_waits where since <= clock_timestamp() - interval '1 minute')
                      - (select count(*) from over where since <= clock_timestamp() - interval '1 minute') as "overdue!""#],
            after.map(DeploymentId::uuid),
            batch,
        )
        .fetch_one(&self.pool())
        .await?;
        let next = row.last.filter(|_| row.looked >= batch).map(DeploymentId::from);
        Ok(ScanBatch { next, overdue: row.overdue })
    }

    /// Wakes up to `batch` deployments that have waited for over a minute, the longest overdue first. Each is
    /// woken up again after 1, 2, 4, 8 and then every 10 minutes.
    pub async fn wake_overdue(&self, batch: i64) -> Result<Vec<OverdueDeployment>, StoreError> {
        let rows = sqlx::query!(
            r#"with due as (
                   select organization_id, deployment_id from engine_waits where wake_at <= clock_timestamp()
                   order by wake_at limit $1 for update skip locked
               ),
               put_off as (
                   update engine_waits w
                   set wakes = w.wakes + 1,
                       wake_at = clock_timestamp() + least(2 ^ least(w.wakes, 4), 10) * interval '1 minute'
                   from due where w.organization_id = due.organization_id and w.deployment_id = due.deployment_id
                   returning w.organization_id, w.deployment_id, w.since
               ),
               woken as (
                   insert into wakes (organization_id, deployment_id) select organization_id, deployment_id from put_off
               )
               select organization_id, deployment_id,
                      extract(epoch from clock_timestamp() - since)::bigint as "waited_seconds!"
               from put_off"#,
            batch,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| OverdueDeployment {
                organization_id: row.organization_id.into(),
                deployment_id: row.deployment_id.into(),
                waited_seconds: row.waited_seconds,
            })
            .collect())
    }
}
