//! Records of deployments, as they are read for the API.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{
    BlockerInput, ConcurrencyLimit, DeploymentStatus, Purpose, Reason, Trigger, WaitingOn, ends_by,
    is_limited, waiting_on,
};
use greenroom_domain::id::{DeploymentId, EnvironmentId, OrganizationId, PipelineId, SessionId, UserId};
use jiff::Timestamp;

use super::person::PersonRecord;
use super::stage_record::{StageRecord, live_stages, time};
use crate::error::{parse_column, parse_nullable_column};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentRecord {
    pub id: DeploymentId,
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
    pub definition_version: i32,
    pub purpose: Purpose,
    pub trigger: Trigger,
    pub environment: Option<(EnvironmentId, String)>,
    pub session_id: Option<SessionId>,
    pub commit_id: String,
    pub branch: Option<String>,
    pub status: DeploymentStatus,
    pub reason: Option<Reason>,
    pub detail: Option<String>,
    /// It may replace what a newer deployment has deployed.
    pub rollback: bool,
    pub created_by: UserId,
    pub created_by_name: Option<String>,
    /// The person for whom a service account has started it, and the person's name.
    pub on_behalf_of: Option<(UserId, String)>,
    /// The user who canceled the deployment or ended its session. `None` if the system did, or if it was not
    /// canceled.
    pub canceled_by: Option<PersonRecord>,
    /// The user who last retried one of its stages.
    pub retried_by: Option<PersonRecord>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When its logs and artifacts were removed.
    pub expired_at: Option<Timestamp>,
    /// The lasting environments that it has not deployed to because conditions saw no branch, if it has succeeded.
    pub skipped_environments: Vec<String>,
    /// Everything that blocks the deployment.
    pub waiting_on: Vec<WaitingOn>,
    /// How many runners of a pool take jobs now, for the pools of its queued stages.
    pub online_runners: HashMap<String, i64>,
    /// The earliest deadline of its queued and running stages and, for a teardown that has started, of the
    /// teardown itself.
    pub deadline_at: Option<Timestamp>,
}

/// A deployment with the columns of its pipeline, environment and session that a record needs.
pub(super) struct Row {
    pub(super) id: uuid::Uuid,
    pub(super) pipeline_id: uuid::Uuid,
    pub(super) pipeline_slug: String,
    pub(super) pipeline_status: String,
    pub(super) definition_version: i32,
    pub(super) purpose: String,
    pub(super) trigger: String,
    pub(super) environment_id: Option<uuid::Uuid>,
    pub(super) environment_name: Option<String>,
    pub(super) session_id: Option<uuid::Uuid>,
    pub(super) commit_id: String,
    pub(super) branch: Option<String>,
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) detail: Option<String>,
    pub(super) allow_older: bool,
    pub(super) created_by: uuid::Uuid,
    pub(super) created_by_name: Option<String>,
    pub(super) on_behalf_of: Option<uuid::Uuid>,
    pub(super) on_behalf_of_name: Option<String>,
    pub(super) canceled_by: Option<uuid::Uuid>,
    pub(super) canceled_by_name: Option<String>,
    pub(super) canceled_by_kind: Option<String>,
    pub(super) retried_by: Option<uuid::Uuid>,
    pub(super) retried_by_name: Option<String>,
    pub(super) retried_by_kind: Option<String>,
    pub(super) created_at: jiff_sqlx::Timestamp,
    pub(super) started_at: Option<jiff_sqlx::Timestamp>,
    pub(super) ended_at: Option<jiff_sqlx::Timestamp>,
    pub(super) expired_at: Option<jiff_sqlx::Timestamp>,
    pub(super) slot_deployment_id: Option<uuid::Uuid>,
    /// The `concurrency` of the pipeline's current definition. Null if it has none, for a deployment that is
    /// not `queued`, and for a teardown.
    pub(super) concurrency: Option<i64>,
    /// How many deployments are ahead of this one under that limit: those at work, and the older ones that wait for
    /// room. Null for a deployment that is not `queued`, and for a teardown.
    pub(super) ahead: Option<i64>,
    /// Null if the deployment has not succeeded, or is not of the whole pipeline.
    pub(super) skipped_environments: Option<Vec<String>>,
}

impl Row {
    fn record(self, live: &[StageRecord]) -> Result<DeploymentRecord, StoreError> {
        let id = DeploymentId::from(self.id);
        let purpose = parse_column("deployments.purpose", &self.purpose)?;
        let status = parse_column("deployments.status", &self.status)?;
        let limit = ConcurrencyLimit(self.concurrency);
        let around = BlockerInput {
            deployment: id,
            slot_holder: self.slot_deployment_id.map(DeploymentId::from),
            pipeline: parse_column("pipelines.status", &self.pipeline_status)?,
            is_teardown: purpose == Purpose::Teardown,
            is_at_concurrency_limit: is_limited(status, purpose)
                && self.ahead.is_some_and(|ahead| !limit.admits(ahead)),
        };
        let ends_by = ends_by(purpose, time(self.started_at)).filter(|_| self.ended_at.is_none());
        Ok(DeploymentRecord {
            id,
            waiting_on: waiting_on(status, around, live.iter().map(StageRecord::live)),
            online_runners: live
                .iter()
                .filter_map(|stage| Some((stage.pool.clone(), stage.online_runners?)))
                .collect(),
            deadline_at: live.iter().filter_map(|stage| stage.deadline_at).chain(ends_by).min(),
            pipeline_id: self.pipeline_id.into(),
            pipeline_slug: self.pipeline_slug,
            definition_version: self.definition_version,
            purpose,
            trigger: parse_column("deployments.trigger", &self.trigger)?,
            environment: self.environment_id.map(EnvironmentId::from).zip(self.environment_name),
            session_id: self.session_id.map(SessionId::from),
            commit_id: self.commit_id,
            branch: self.branch,
            status,
            reason: parse_nullable_column("deployments.reason", self.reason.as_deref())?,
            detail: self.detail,
            rollback: self.allow_older,
            created_by: self.created_by.into(),
            created_by_name: self.created_by_name,
            on_behalf_of: self.on_behalf_of.map(UserId::from).zip(self.on_behalf_of_name),
            canceled_by: PersonRecord::of(self.canceled_by, self.canceled_by_name, self.canceled_by_kind),
            retried_by: PersonRecord::of(self.retried_by, self.retried_by_name, self.retried_by_kind),
            created_at: self.created_at.to_jiff(),
            started_at: time(self.started_at),
            ended_at: time(self.ended_at),
            expired_at: time(self.expired_at),
            skipped_environments: self.skipped_environments.unwrap_or_default(),
        })
    }
}

fn unended(rows: &[Row]) -> Vec<uuid::Uuid> {
    rows.iter().filter(|row| row.ended_at.is_none()).map(|row| row.id).collect()
}

fn records(
    rows: Vec<Row>,
    live: &HashMap<DeploymentId, Vec<StageRecord>>,
) -> Result<Vec<DeploymentRecord>, StoreError> {
    let none = Vec::new();
    rows.into_iter()
        .map(|row| {
            let live = live.get(&row.id.into()).unwrap_or(&none);
            row.record(live)
        })
        .collect()
}

/// Selects a [`Row`] for each deployment `d` of `$from`.
macro_rules! record_query {
    ($from:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select d.id, d.pipeline_id, p.slug as pipeline_slug, p.status as pipeline_status, d.definition_version,
                      d.purpose, d.trigger, d.environment_id as "environment_id?", e.name as "environment_name?",
                      d.session_id as "session_id?", d.commit_id, d.branch, d.status, d.reason, d.detail, d.allow_older, d.created_by,
                      m.name as "created_by_name?", d.on_behalf_of, d.on_behalf_of_name, d.canceled_by, d.canceled_by_name, d.canceled_by_kind,
                      d.retried_by, d.retried_by_name, d.retried_by_kind, d.created_at, d.started_at, d.ended_at, d.expired_at,
                      e.slot_deployment_id as "slot_deployment_id?",
                      case when d.status = 'queued' and d.purpose <> 'teardown' then (
                          select (v.definition ->> 'concurrency')::bigint from pipeline_versions v
                          where v.organization_id = $1 and v.pipeline_id = d.pipeline_id
                            and v.version = p.definition_version) end as concurrency,
                      case when d.status = 'queued' and d.purpose <> 'teardown' then (
                          select count(*) from deployments o
                          left join environments place on place.organization_id = $1 and place.id = o.environment_id
                          where o.organization_id = $1 and o.pipeline_id = d.pipeline_id and o.purpose = d.purpose
                            and (o.status in ('running', 'paused', 'canceling')
                                 or o.status = 'queued' and o.id < d.id and o.cancel_reason is null
                                    and (o.environment_id is null or place.slot_deployment_id = o.id)
                                 or o.status = 'waiting' and o.id < d.id and o.cancel_reason is null
                                    and exists (select 1 from stages s
                                        where s.organization_id = $1 and s.deployment_id = o.id
                                          and s.status = 'waiting' and s.blocker ->> 'kind' = 'concurrency'))) end as ahead,
                      case when d.status = 'succeeded' and d.purpose = 'pipeline' and exists (
                          select from stages s
                          where s.organization_id = $1 and s.deployment_id = d.id and s.reason = 'branch_unknown') then (
                          select array_agg(distinct s.environment) filter (where s.environment is not null) from stages s
                          where s.organization_id = $1 and s.deployment_id = d.id and s.status = 'skipped'
                            and s.reason in ('branch_unknown', 'upstream_skipped')
                          having bool_or(s.reason = 'branch_unknown')) end as skipped_environments
               from "# + $from + r#"
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               left join memberships m on m.organization_id = $1 and m.user_id = d.created_by
               order by d.id desc"#,
            $($argument),*
        )
    };
}

pub(super) use record_query;

#[boxed_futures]
impl Store {
    pub(super) async fn with_stages(
        &self,
        organization: OrganizationId,
        rows: Vec<Row>,
    ) -> Result<Vec<DeploymentRecord>, StoreError> {
        let live = live_stages(&self.pool(), organization.uuid(), &unended(&rows)).await?;
        records(rows, &live)
    }

    pub async fn deployment_record(
        &self,
        organization: OrganizationId,
        id: DeploymentId,
    ) -> Result<Option<DeploymentRecord>, StoreError> {
        let rows = record_query!(
            "(select * from deployments o where o.organization_id = $1 and o.id = $2) d",
            organization.uuid(),
            id.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(self.with_stages(organization, rows).await?.pop())
    }
}

#[boxed_futures]
impl OrgTransaction {
    async fn with_stages(&mut self, rows: Vec<Row>) -> Result<Vec<DeploymentRecord>, StoreError> {
        let organization = self.organization();
        let live = live_stages(self.connection(), organization, &unended(&rows)).await?;
        records(rows, &live)
    }

    /// Returns the deployment with the changes of this transaction.
    pub async fn deployment_record(
        &mut self,
        id: DeploymentId,
    ) -> Result<Option<DeploymentRecord>, StoreError> {
        let organization = self.organization();
        let rows = record_query!(
            "(select * from deployments o where o.organization_id = $1 and o.id = $2) d",
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(self.with_stages(rows).await?.pop())
    }

    pub async fn deployments_of(&mut self, session: SessionId) -> Result<Vec<DeploymentRecord>, StoreError> {
        let organization = self.organization();
        let rows = record_query!(
            "(select * from deployments o where o.organization_id = $1 and o.session_id = $2
                  order by o.id desc limit 100) d",
            organization,
            session.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        self.with_stages(rows).await
    }
}
