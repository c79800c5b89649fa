//! Reads lasting environments for the API: what is live, which deployment works there, and what keeps others from it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::Environment;
use greenroom_domain::id::{DeploymentId, OrganizationId, PipelineId, UserId};
use greenroom_domain::text::CommitPrefix;
use jiff::Timestamp;
use sqlx::PgConnection;

use crate::freeze::ActiveFreeze;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Store, StoreError};

/// A lasting environment as it is listed for users.
#[derive(Clone, Debug, PartialEq)]
pub struct LastingRecord {
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
    pub name: String,
    /// Its part of the pipeline's current definition; `None` if that no longer contains the environment.
    pub definition: Option<Environment>,
    pub live: Option<LiveRecord>,
    pub slot: Option<SlotRecord>,
    /// A hold that has not ended.
    pub hold: Option<HoldRecord>,
    pub freeze: Option<ActiveFreeze>,
    /// The number of deployments with a stage that waits to begin there.
    pub waiting: i64,
}

/// The deployment that is live in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRecord {
    pub deployment_id: DeploymentId,
    pub commit_id: String,
    pub branch: Option<String>,
    pub at: Timestamp,
    pub by: UserRecord,
    pub is_rollback: bool,
}

/// The deployment that has an environment's work slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRecord {
    pub deployment_id: DeploymentId,
    pub commit_id: String,
    /// When its first step started there; `None` before.
    pub since: Option<Timestamp>,
    pub by: UserRecord,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRecord {
    pub by: UserRecord,
    pub reason: String,
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRecord {
    pub id: UserId,
    pub name: String,
}

/// Which environments are listed.
#[derive(Clone, Copy, Debug)]
pub struct LastingFilter<'a> {
    /// Environments of these pipelines, in this order.
    pub pipelines: &'a [PipelineId],
    /// The beginning of the live deployment's commit id.
    pub commit_id: Option<&'a CommitPrefix>,
}

struct Row {
    pipeline_id: uuid::Uuid,
    slug: String,
    name: String,
    definition: Option<serde_json::Value>,
    live_id: Option<uuid::Uuid>,
    live_commit_id: Option<String>,
    live_branch: Option<String>,
    live_at: Option<jiff_sqlx::Timestamp>,
    live_by: Option<uuid::Uuid>,
    live_by_name: Option<String>,
    live_rollback: Option<bool>,
    slot_id: Option<uuid::Uuid>,
    slot_commit_id: Option<String>,
    slot_since: Option<jiff_sqlx::Timestamp>,
    slot_by: Option<uuid::Uuid>,
    slot_by_name: Option<String>,
    held_by: Option<uuid::Uuid>,
    held_by_name: Option<String>,
    held_reason: Option<String>,
    held_since: Option<jiff_sqlx::Timestamp>,
    held_until: Option<jiff_sqlx::Timestamp>,
    waiting: i64,
    now: jiff_sqlx::Timestamp,
}

#[boxed_futures]
impl Store {
    /// Returns the lasting environments of current definitions that match the filter, in the order of the pipelines
    /// and of their definitions.
    pub async fn lasting_environments(
        &self,
        organization: OrganizationId,
        filter: LastingFilter<'_>,
        page: Page,
    ) -> Result<PageResult<LastingRecord>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        let pipelines: Vec<uuid::Uuid> = filter.pipelines.iter().map(|id| id.uuid()).collect();
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from pipelines p
                   join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                       and v.version = p.definition_version
                   cross join jsonb_array_elements(v.definition -> 'environments') environment
                   join lasting_environments e on e.organization_id = $1 and e.pipeline_id = p.id
                       and e.name = environment ->> 'name'
                   where p.organization_id = $1 and p.id = any($2)
                     and ($3::text is null or exists (select 1 from deployments d where d.organization_id = $1
                         and d.id = e.live_deployment_id and d.commit_id like $3 || '%'))
                   limit $4
               ) counted"#,
            organization.uuid(),
            &pipelines,
            filter.commit_id.map(CommitPrefix::as_str),
            MAX_COUNT + 1,
        )
        .fetch_one(&mut *connection)
        .await?;
        let rows = read(&mut connection, organization, filter, None, page).await?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns a lasting environment, also if the pipeline's current definition no longer contains it.
    pub async fn lasting_environment(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
        name: &str,
    ) -> Result<Option<LastingRecord>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        read_one(&mut connection, organization, pipeline, name).await
    }
}

/// Returns a lasting environment as the connection's transaction sees it.
pub(crate) async fn read_one(
    connection: &mut PgConnection,
    organization: OrganizationId,
    pipeline: PipelineId,
    name: &str,
) -> Result<Option<LastingRecord>, StoreError> {
    let filter = LastingFilter { pipelines: &[pipeline], commit_id: None };
    let found = read(connection, organization, filter, Some(name), Page { limit: 1, offset: 0 }).await?;
    Ok(found.into_iter().next())
}

/// Reads the environments of the current definitions, or those with a name, also if the definition no longer
/// contains it.
async fn read(
    connection: &mut PgConnection,
    organization: OrganizationId,
    filter: LastingFilter<'_>,
    name: Option<&str>,
    page: Page,
) -> Result<Vec<LastingRecord>, StoreError> {
    let pipelines: Vec<uuid::Uuid> = filter.pipelines.iter().map(|id| id.uuid()).collect();
    // Who started the deployment is recorded when it begins in the environment. What was live before these records
    // existed has none.
    let rows = sqlx::query_as!(
        Row,
        r#"select e.pipeline_id, e.slug, e.name, e.environment as "definition?",
                  live.id as "live_id?", live.commit_id as "live_commit_id?", live.branch as "live_branch?",
                  e.live_at as "live_at?", coalesce(begun.started_by, live.retried_by, live.created_by) as live_by,
                  live_member.name as "live_by_name?", begun.rollback as "live_rollback?",
                  slot.id as "slot_id?", slot.commit_id as "slot_commit_id?", work.began_at as "slot_since?",
                  coalesce(work.started_by, slot.retried_by, slot.created_by) as slot_by,
                  slot_member.name as "slot_by_name?",
                  e.held_by, e.held_by_name, e.held_reason, e.held_since, e.held_until,
                  (select count(distinct s.deployment_id) from stages s
                   join deployments d on d.organization_id = $1 and d.id = s.deployment_id
                       and d.pipeline_id = e.pipeline_id
                   where s.organization_id = $1 and s.environment = e.name and s.status = 'waiting') as "waiting!",
                  clock_timestamp() as "now!"
           from (
               select e.*, p.slug, current.environment, array_position($2, p.id) as pipeline_place, current.place
               from lasting_environments e
               join pipelines p on p.organization_id = $1 and p.id = e.pipeline_id
               join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                   and v.version = p.definition_version
               left join lateral (
                   select named.environment, named.place
                   from jsonb_array_elements(v.definition -> 'environments')
                       with ordinality as named (environment, place)
                   where named.environment ->> 'name' = e.name
               ) current on true
               where e.organization_id = $1 and e.pipeline_id = any($2)
                 and case when $3::text is null then current.place is not null else e.name = $3 end
                 and ($4::text is null or exists (select 1 from deployments d where d.organization_id = $1
                     and d.id = e.live_deployment_id and d.commit_id like $4 || '%'))
               order by pipeline_place, current.place
               limit $5 offset $6
           ) e
           left join deployments live on live.organization_id = $1 and live.id = e.live_deployment_id
           left join lateral (
               select h.started_by, h.rollback from environment_deployments h
               where h.organization_id = $1 and h.pipeline_id = e.pipeline_id and h.name = e.name
                 and h.deployment_id = e.live_deployment_id and h.outcome = 'succeeded'
               order by h.fence desc limit 1
           ) begun on true
           left join memberships live_member on live_member.organization_id = $1
               and live_member.user_id = coalesce(begun.started_by, live.retried_by, live.created_by)
           left join deployments slot on slot.organization_id = $1 and slot.id = e.slot_deployment_id
           left join environment_deployments work on work.organization_id = $1 and work.pipeline_id = e.pipeline_id
               and work.name = e.name and work.fence = e.fence and work.deployment_id = e.slot_deployment_id
           left join memberships slot_member on slot_member.organization_id = $1
               and slot_member.user_id = coalesce(work.started_by, slot.retried_by, slot.created_by)
           order by e.pipeline_place, e.place"#,
        organization.uuid(),
        &pipelines,
        name,
        filter.commit_id.map(CommitPrefix::as_str),
        page.limit,
        page.offset,
    )
    .fetch_all(&mut *connection)
    .await?;
    let Some(now) = rows.first().map(|row| row.now.to_jiff()) else { return Ok(Vec::new()) };
    let freezes = crate::freeze::active_freezes(connection, organization, &pipelines, now).await?;
    let with_freeze = |row: Row| {
        let freeze = freezes.of(row.pipeline_id.into(), &row.name);
        row.record(freeze)
    };
    rows.into_iter().map(with_freeze).collect()
}

impl Row {
    fn record(self, freeze: Option<ActiveFreeze>) -> Result<LastingRecord, StoreError> {
        let definition = self.definition.map(serde_json::from_value).transpose();
        let definition = definition.map_err(|error| StoreError::Unreadable {
            column: "pipeline_versions.definition",
            value: error.to_string(),
        })?;
        let user = |id: uuid::Uuid, name: Option<String>| UserRecord {
            id: id.into(),
            name: name.unwrap_or_default(),
        };
        let live = match (self.live_id, self.live_commit_id, self.live_at, self.live_by) {
            (Some(id), Some(commit_id), Some(at), Some(by)) => Some(LiveRecord {
                deployment_id: id.into(),
                commit_id,
                branch: self.live_branch,
                at: at.to_jiff(),
                by: user(by, self.live_by_name),
                is_rollback: self.live_rollback.unwrap_or_default(),
            }),
            _ => None,
        };
        let slot = match (self.slot_id, self.slot_commit_id, self.slot_by) {
            (Some(id), Some(commit_id), Some(by)) => Some(SlotRecord {
                deployment_id: id.into(),
                commit_id,
                since: self.slot_since.map(jiff_sqlx::Timestamp::to_jiff),
                by: user(by, self.slot_by_name),
            }),
            _ => None,
        };
        let hold = match (self.held_by, self.held_reason, self.held_since, self.held_until) {
            (Some(by), Some(reason), Some(since), Some(until)) if until.to_jiff() > self.now.to_jiff() => {
                let by = user(by, self.held_by_name);
                Some(HoldRecord { by, reason, since: since.to_jiff(), until: until.to_jiff() })
            }
            _ => None,
        };
        Ok(LastingRecord {
            pipeline_id: self.pipeline_id.into(),
            pipeline_slug: self.slug,
            name: self.name,
            definition,
            live,
            slot,
            hold,
            freeze,
            waiting: self.waiting,
        })
    }
}
