//! Records of stages, as they are read for the API.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{
    ApprovalProgress, AttemptTimes, Blocker, LiveStage, Reason, StageStatus, deadline,
};
use greenroom_domain::id::{DeploymentId, OrganizationId};
use jiff::{SignedDuration, Timestamp};
use sqlx::PgExecutor;

use super::advance::TIMING;
use super::person::PersonRecord;
use super::stages::parse_blocker;
use crate::error::{parse_column, parse_nullable_column};
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRecord {
    pub key: String,
    pub name: String,
    pub needs: Vec<String>,
    pub pool: String,
    /// The lasting environment that it deploys to.
    pub environment: Option<String>,
    /// Why it waits, unless it waits for an approval.
    pub blocker: Option<Blocker>,
    /// The open approval that it waits for.
    pub approval: Option<ApprovalProgress>,
    /// The last override of its gates.
    pub gate_overridden: Option<serde_json::Value>,
    pub status: StageStatus,
    pub reason: Option<Reason>,
    pub detail: Option<String>,
    pub attempt: i32,
    pub retry_at: Option<Timestamp>,
    /// The user who canceled this stage. `None` if it was not canceled, or only together with its whole
    /// deployment.
    pub canceled_by: Option<PersonRecord>,
    pub retried_by: Option<PersonRecord>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// For a queued stage, when it stops waiting for a runner; for a running one, when its timeout ends.
    /// `None` for any other status.
    pub deadline_at: Option<Timestamp>,
    /// For a queued stage, the number of runners of its pool that take jobs now.
    pub online_runners: Option<i64>,
}

struct Row {
    deployment_id: uuid::Uuid,
    key: String,
    name: String,
    needs: Vec<String>,
    pool: String,
    environment: Option<String>,
    blocker: Option<serde_json::Value>,
    gate_overridden: Option<serde_json::Value>,
    approval_id: Option<uuid::Uuid>,
    needed: Option<i32>,
    have: Option<i32>,
    eligible: Option<i32>,
    status: String,
    reason: Option<String>,
    detail: Option<String>,
    attempt: i32,
    retry_at: Option<jiff_sqlx::Timestamp>,
    canceled_by: Option<uuid::Uuid>,
    canceled_by_name: Option<String>,
    canceled_by_kind: Option<String>,
    retried_by: Option<uuid::Uuid>,
    retried_by_name: Option<String>,
    retried_by_kind: Option<String>,
    started_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
    timeout_seconds: i64,
    attempt_queued_at: Option<jiff_sqlx::Timestamp>,
    attempt_started_at: Option<jiff_sqlx::Timestamp>,
    online_runners: Option<i64>,
}

impl TryFrom<Row> for StageRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let status = parse_column("stages.status", &row.status)?;
        let deadline_at = time(row.attempt_queued_at).and_then(|queued_at| {
            let attempt = AttemptTimes { queued_at, started_at: time(row.attempt_started_at) };
            deadline(status, attempt, SignedDuration::from_secs(row.timeout_seconds), TIMING)
        });
        Ok(Self {
            key: row.key,
            name: row.name,
            needs: row.needs,
            pool: row.pool,
            environment: row.environment,
            blocker: parse_blocker(row.blocker)?,
            approval: progress(row.approval_id, row.needed, row.have, row.eligible),
            gate_overridden: row.gate_overridden,
            status,
            reason: parse_nullable_column("stages.reason", row.reason.as_deref())?,
            detail: row.detail,
            attempt: row.attempt,
            retry_at: time(row.retry_at),
            canceled_by: PersonRecord::of(row.canceled_by, row.canceled_by_name, row.canceled_by_kind),
            retried_by: PersonRecord::of(row.retried_by, row.retried_by_name, row.retried_by_kind),
            started_at: time(row.started_at),
            ended_at: time(row.ended_at),
            deadline_at,
            online_runners: row.online_runners,
        })
    }
}

impl StageRecord {
    pub(super) fn live(&self) -> LiveStage<'_> {
        LiveStage {
            key: &self.key,
            pool: &self.pool,
            environment: self.environment.as_deref(),
            blocker: self.blocker.as_ref(),
            approval: self.approval,
            status: self.status,
            retry_at: self.retry_at,
        }
    }
}

fn progress(
    id: Option<uuid::Uuid>,
    needed: Option<i32>,
    have: Option<i32>,
    eligible: Option<i32>,
) -> Option<ApprovalProgress> {
    let count = |number: Option<i32>| u32::try_from(number.unwrap_or_default()).unwrap_or_default();
    let approval_id = id?.into();
    Some(ApprovalProgress {
        approval_id,
        needed: count(needed),
        have: count(have),
        eligible: count(eligible),
    })
}

/// Selects stages of organization `$1` with the times of their newest attempts, in the order of the
/// definition.
macro_rules! stage_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select s.deployment_id, s.key, s.name, s.needs, s.pool, s.environment, s.blocker, s.gate_overridden,
                      a.id as "approval_id?", a.needed as "needed?", a.have as "have?", a.eligible as "eligible?", s.status, s.reason, s.detail, s.attempt, s.retry_at,
                      s.canceled_by, s.canceled_by_name, s.canceled_by_kind, s.retried_by, s.retried_by_name,
                      s.retried_by_kind, s.started_at, s.ended_at, s.timeout_seconds, j.queued_at as "attempt_queued_at?",
                      j.started_at as attempt_started_at,
                      case when s.status = 'queued' then (
                          select count(*) from runners r
                          join runner_pools p on p.organization_id = $1 and p.id = r.pool_id
                          where r.organization_id = $1 and p.name = s.pool and r.revoked_at is null and not r.draining
                            and r.last_seen_at > clock_timestamp() - interval '60 seconds') end as online_runners
               from stages s
               left join jobs j on j.organization_id = $1 and j.deployment_id = s.deployment_id
                   and j.stage_key = s.key and j.attempt = s.attempt
               left join approvals a on a.organization_id = $1 and a.id = s.approval_id and a.status = 'pending'
               where s.organization_id = $1 and "# + $condition + " order by s.position",
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the stages of a deployment, in the order of the definition.
    pub async fn stage_records(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
    ) -> Result<Vec<StageRecord>, StoreError> {
        let rows = stage_query!("s.deployment_id = $2", organization.uuid(), deployment.uuid())
            .fetch_all(&self.pool())
            .await?;
        rows.into_iter().map(StageRecord::try_from).collect()
    }
}

/// Returns the stages of these deployments that are `waiting`, `queued` or `running`, or that have an
/// automatic retry scheduled.
pub(super) async fn live_stages(
    connection: impl PgExecutor<'_>,
    organization: uuid::Uuid,
    deployments: &[uuid::Uuid],
) -> Result<HashMap<DeploymentId, Vec<StageRecord>>, StoreError> {
    let mut live: HashMap<DeploymentId, Vec<StageRecord>> = HashMap::new();
    if deployments.is_empty() {
        return Ok(live);
    }
    let rows = stage_query!(
        "s.deployment_id = any($2) and (s.status in ('waiting', 'queued', 'running') or s.retry_at is not null)",
        organization,
        deployments,
    )
    .fetch_all(connection)
    .await?;
    for row in rows {
        live.entry(row.deployment_id.into()).or_default().push(row.try_into()?);
    }
    Ok(live)
}

pub(super) fn time(at: Option<jiff_sqlx::Timestamp>) -> Option<Timestamp> {
    at.map(jiff_sqlx::Timestamp::to_jiff)
}
