//! What must hold in every database, for `greenroomd admin verify` after a restore. Each query returns what breaks one
//! invariant, at most [`MAX_BROKEN`] rows of it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;

use crate::{Store, StoreError};

/// How many rows a query reports.
pub const MAX_BROKEN: usize = 20;

/// Something that breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub invariant: String,
    /// The organization's id, or `-`.
    pub organization: String,
    pub subject: String,
}

/// An object that a row refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferredObject {
    pub organization: String,
    pub name: String,
    /// What refers to it.
    pub subject: String,
}

#[boxed_futures]
impl Store {
    /// Returns rows that break a foreign key or a check of the schema.
    pub async fn broken_constraints(&self) -> Result<Vec<Broken>, StoreError> {
        Ok(sqlx::query_as!(
            Broken,
            r#"select 'invariant: every row fulfills the constraints of its table' as "invariant!", '-' as "organization!",
                      format('%s rows of %s break %s', violations, table_name, constraint_name) as "subject!"
               from constraint_violations()"#,
        )
        .fetch_all(&self.pool())
        .await?)
    }

    /// Returns what is wrong with the numbers of events.
    pub async fn broken_event_numbers(&self) -> Result<Vec<Broken>, StoreError> {
        let mut found = sqlx::query_as!(
            Broken,
            r#"select 'invariant: events are numbered without gaps' as "invariant!", e.organization_id::text as "organization!",
                      format('event %s comes after event %s', e.sequence, e.before) as "subject!"
               from (select organization_id, sequence,
                            lag(sequence) over (partition by organization_id order by sequence) as before
                     from events) e
               where e.before is not null and e.sequence <> e.before + 1
               order by e.organization_id, e.sequence limit 20"#,
        )
        .fetch_all(&self.pool())
        .await?;
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: the last event has the last number that was given' as "invariant!",
                          h.organization_id::text as "organization!",
                          format('the last number is %s, the last event %s', h.sequence, e.last) as "subject!"
                   from event_heads h
                   join lateral (select max(sequence) as last from events where organization_id = h.organization_id) e on true
                   where e.last is not null and e.last <> h.sequence
                   order by h.organization_id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        Ok(found)
    }

    /// Returns what is wrong with locks: the environment and the session both have who holds it.
    pub async fn broken_locks(&self) -> Result<Vec<Broken>, StoreError> {
        let mut found = sqlx::query_as!(
            Broken,
            r#"select 'invariant: a held environment has its active session' as "invariant!",
                      e.organization_id::text as "organization!", format('environment %s (%s)', e.name, e.id) as "subject!"
               from environments e
               where e.session_id is not null and not exists (
                   select 1 from sessions s
                   where s.organization_id = e.organization_id and s.id = e.session_id and s.environment_id = e.id
                     and s.status = 'active' and s.fence = e.fence)
               order by e.organization_id, e.id limit 20"#,
        )
        .fetch_all(&self.pool())
        .await?;
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: an active session holds its environment' as "invariant!",
                          s.organization_id::text as "organization!", format('session %s', s.id) as "subject!"
                   from sessions s
                   where s.status = 'active' and not exists (
                       select 1 from environments e
                       where e.organization_id = s.organization_id and e.id = s.environment_id and e.session_id = s.id)
                   order by s.organization_id, s.id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: a fence is given once' as "invariant!", s.organization_id::text as "organization!",
                          format('fence %s of environment %s', s.fence, s.environment_id) as "subject!"
                   from sessions s
                   join environments e on e.organization_id = s.organization_id and e.id = s.environment_id
                   where s.fence is not null
                   group by s.organization_id, s.environment_id, s.fence, e.fence
                   having count(*) > 1 or s.fence > e.fence
                   order by s.organization_id, s.environment_id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: the history of an environment is complete' as "invariant!",
                          e.organization_id::text as "organization!",
                          format('environment %s (%s) has had %s sessions, %s are there, and %s of %s wait', e.name, e.id,
                              e.sessions, s.count, s.waiting, e.waiters) as "subject!"
                   from environments e
                   join lateral (select count(*), count(*) filter (where status = 'queued') as waiting, max(ordinal) as last
                       from sessions where organization_id = e.organization_id and environment_id = e.id) s on true
                   where s.count <> e.sessions or s.waiting <> e.waiters or coalesce(s.last, 0) > e.sessions
                   order by e.organization_id, e.id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        Ok(found)
    }

    /// Returns what is wrong with pipelines and deployments.
    pub async fn broken_deployments(&self) -> Result<Vec<Broken>, StoreError> {
        let mut found = sqlx::query_as!(
            Broken,
            r#"select 'invariant: every version of a definition is there' as "invariant!",
                      p.organization_id::text as "organization!", format('pipeline %s (%s)', p.slug, p.id) as "subject!"
               from pipelines p
               join lateral (select count(*), max(version) as last from pipeline_versions
                   where organization_id = p.organization_id and pipeline_id = p.id) v on true
               where v.count <> p.definition_version or v.last is distinct from p.definition_version
               order by p.organization_id, p.id limit 20"#,
        )
        .fetch_all(&self.pool())
        .await?;
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: a deployment has its definition and its stages' as "invariant!",
                          d.organization_id::text as "organization!", format('deployment %s', d.id) as "subject!"
                   from deployments d
                   where (d.started_at is not null and not exists (select 1 from stages s
                           where s.organization_id = d.organization_id and s.deployment_id = d.id))
                      or not exists (select 1 from pipeline_versions v
                           where v.organization_id = d.organization_id and v.pipeline_id = d.pipeline_id
                             and v.version = d.definition_version)
                   order by d.organization_id, d.id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: every stage of an ended deployment has ended' as "invariant!",
                          s.organization_id::text as "organization!",
                          format('stage %s of deployment %s', s.key, s.deployment_id) as "subject!"
                   from stages s
                   join deployments d on d.organization_id = s.organization_id and d.id = s.deployment_id
                   where d.ended_at is not null and s.ended_at is null
                   order by s.organization_id, s.deployment_id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: what is live in an environment was deployed there' as "invariant!",
                          l.organization_id::text as "organization!", format('environment %s', l.name) as "subject!"
                   from lasting_environments l
                   join lateral (select coalesce(max(fence), 0) as last,
                                        coalesce(bool_or(deployment_id = l.live_deployment_id), false) as has_live
                       from environment_deployments where organization_id = l.organization_id
                         and pipeline_id = l.pipeline_id and name = l.name) h on true
                   where h.last > l.fence or (l.live_deployment_id is not null and not h.has_live)
                   order by l.organization_id, l.name limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        Ok(found)
    }

    /// Returns what is wrong with logs and secrets, apart from their content.
    pub async fn broken_content(&self) -> Result<Vec<Broken>, StoreError> {
        let mut found = sqlx::query_as!(
            Broken,
            r#"select 'invariant: a log has no gaps' as "invariant!", l.organization_id::text as "organization!",
                      format('step %s at byte %s', l.step_run_id, l.start) as "subject!"
               from (select organization_id, step_run_id, start,
                            lag(start + bytes) over (partition by organization_id, step_run_id order by start) as before
                     from log_segments) l
               where l.start <> coalesce(l.before, 0)
               order by l.organization_id, l.step_run_id limit 20"#,
        )
        .fetch_all(&self.pool())
        .await?;
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: a secret has its active version' as "invariant!", s.organization_id::text as "organization!",
                          format('secret %s (%s)', s.name, s.id) as "subject!"
                   from secrets s
                   where s.deleted_at is null and not exists (
                       select 1 from secret_versions v
                       where v.organization_id = s.organization_id and v.secret_id = s.id and v.version = s.active_version
                         and v.status = 'active')
                   order by s.organization_id, s.id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: an organization has an owner' as "invariant!", o.id::text as "organization!",
                          format('organization %s', o.slug) as "subject!"
                   from organizations o
                   where not exists (select 1 from memberships m
                       where m.organization_id = o.id and m.role = 'owner' and m.removed_at is null)
                   order by o.id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        found.extend(
            sqlx::query_as!(
                Broken,
                r#"select 'invariant: pipelines are counted' as "invariant!", t.organization_id::text as "organization!",
                          format('%s are counted, %s are there', t.pipelines, p.count) as "subject!"
                   from organization_totals t
                   join lateral (select count(*) from pipelines where organization_id = t.organization_id) p on true
                   where p.count <> t.pipelines
                   order by t.organization_id limit 20"#,
            )
            .fetch_all(&self.pool())
            .await?,
        );
        Ok(found)
    }

    /// Returns the names of all objects that rows refer to.
    pub async fn referred_objects(&self) -> Result<Vec<ReferredObject>, StoreError> {
        Ok(sqlx::query_as!(
            ReferredObject,
            r#"select organization_id::text as "organization!", object as "name!", 'artifact ' || id as "subject!"
               from artifacts
               union all
               select organization_id::text, object, 'log of step ' || step_run_id from log_segments
               where object is not null
               union all
               select organization_id::text, object, 'cache ' || key from caches"#,
        )
        .fetch_all(&self.pool())
        .await?)
    }

    /// Returns the ids of all organizations.
    pub async fn organization_ids(&self) -> Result<Vec<OrganizationId>, StoreError> {
        let ids =
            sqlx::query_scalar!("select id from organizations order by id").fetch_all(&self.pool()).await?;
        Ok(ids.into_iter().map(OrganizationId::from).collect())
    }
}
