//! Advances a deployment: locks its rows, lets the domain's machine decide, writes the difference and records
//! events.
//!
//! The rows of the environments are locked first, then the deployment's. Everything below the deployment (stages,
//! jobs, steps) is changed only while the deployment's row is locked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{
    AdvanceInput, Deployment, DeploymentStatus, PlanInput, PlannedStage, Purpose, Reason, Stage, StageStatus,
    Timing, Trigger, advance, ends_by, is_held, may_start, next_advance_at,
};
use greenroom_domain::id::{DeploymentId, EnvironmentId, JobId, PipelineId, UserId};
use greenroom_domain::pipeline::{PipelineStatus, StopMode};
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;
use crate::approval::StoredApproval;
use crate::deployment::gates::Gates;
use crate::deployment::person::PersonRecord;
use crate::deployment::planning::{ComputedPlan, PlanKey};
use crate::deployment::stage_columns::StageColumns;
use crate::deployment::stage_row::StageRow;
use crate::dispatch::{Advance, Dispatch};
use crate::error::{parse_column, parse_nullable_column};
use crate::transaction::OrgTransaction;

/// Time limits of jobs. After the end of a job's lease plus the grace time, its steps are guaranteed to be
/// dead.
pub const TIMING: Timing = Timing {
    lease_grace: SignedDuration::from_secs(30),
    max_queue_time: SignedDuration::from_secs(24 * 3_600),
    timeout_slack: SignedDuration::from_secs(60),
};
/// Fallback poll interval, in case a wake-up is lost.
const FALLBACK_POLL_INTERVAL: Duration = Duration::from_secs(600);
/// The same for a deployment that waits for a person or for another deployment, possibly for days. Each poll is kept in
/// the engine's history.
const WAITING_POLL_INTERVAL: Duration = Duration::from_secs(24 * 3_600);

/// A deployment whose row this transaction has locked.
pub(crate) struct LockedDeployment {
    pub(crate) id: DeploymentId,
    pub(crate) pipeline_id: PipelineId,
    pub(crate) pipeline_slug: String,
    pub(crate) environment: Option<(EnvironmentId, String)>,
    pub(crate) session_id: Option<uuid::Uuid>,
    pub(crate) purpose: Purpose,
    pub(crate) commit_id: String,
    branch: Option<String>,
    pub(crate) has_repository: bool,
    trigger: Trigger,
    definition_version: i32,
    /// The current version of the pipeline's definition.
    pub(crate) current_version: i32,
    /// The organization has pools that are restricted to some pipelines.
    pub(crate) has_restricted_pools: bool,
    /// When it was created, or when a user retried it with `allowOlder`.
    pub(crate) accepted_at: Timestamp,
    /// It may replace what a newer deployment has deployed.
    pub(crate) allows_older: bool,
    pub(crate) created_by: UserId,
    planned: bool,
    /// A retry has changed the version of the definition: what has not begun is planned again.
    pub(super) replan: bool,
    has_slot: bool,
    pub(crate) pipeline_status: PipelineStatus,
    stop_mode: Option<StopMode>,
    pub(crate) state: Deployment,
    /// Columns of its stages that the machine does not need, by the stages' keys.
    pub(crate) stage_columns: BTreeMap<String, StageColumns>,
    /// Why stages do not get their secrets or inputs, by the stages' keys. Set only while this transaction decides.
    pub(crate) failure_details: BTreeMap<String, String>,
    /// The approvals of its stages, by the stages' keys. The rows of pending ones are locked.
    pub(crate) approvals: BTreeMap<String, StoredApproval>,
    /// Who canceled and who last retried it, with the changes of this transaction.
    pub(crate) canceled_by: Option<PersonRecord>,
    pub(crate) retried_by: Option<PersonRecord>,
    pub(crate) stored: StoredDeployment,
    pub(crate) now: Timestamp,
}

/// Columns of a deployment as they were when its row was locked.
pub(crate) struct StoredDeployment {
    pub(crate) status: DeploymentStatus,
    pub(crate) reason: Option<Reason>,
    pub(crate) created_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
}

/// The result of advancing a deployment in a transaction.
pub(crate) enum Advanced {
    Done(Advance),
    /// There is no such deployment.
    Missing,
    /// The deployment can start as soon as it is planned. Nothing was changed: compute the plan outside of
    /// the transaction, and call again with it.
    NeedsPlan(PlanKey, Arc<Definition>),
}

impl OrgTransaction {
    /// Advances a deployment. `computed` is used if its key matches the current rows.
    pub(crate) async fn advance(
        &mut self,
        id: DeploymentId,
        computed: Option<ComputedPlan>,
    ) -> Result<Advanced, StoreError> {
        let mut environments = self.lock_lasting_environments(id).await?;
        let Some(mut deployment) = self.lock_deployment(id).await? else { return Ok(Advanced::Missing) };
        if deployment.state.status.is_final() {
            return Ok(Advanced::Done(Advance::ENDED));
        }
        let before = deployment.state.clone();
        let definition = self.definition_of(deployment.pipeline_id, deployment.definition_version).await?;
        let gates = self.decide_gates(&deployment, &mut environments).await?;
        let mut input = self.advance_input(&deployment, gates).await?;
        let mut plan = None;
        let needs_plan = deployment.replan || (!deployment.planned && input.can_start);
        if needs_plan && deployment.state.cancel.is_none() {
            let key = deployment.plan_key();
            let computed = match computed.filter(|computed| computed.key == key) {
                Some(computed) => computed,
                None if PlanKey::is_cheap(&definition) => key.compute(&definition),
                None => return Ok(Advanced::NeedsPlan(key, definition)),
            };
            plan = Some(deployment.apply_plan(computed));
        }
        self.restrict_pools(&mut deployment, &definition, plan.as_deref()).await?;
        self.refuse_inputs(&mut deployment, &definition).await?;
        self.check_secrets(&mut deployment, &definition, plan.as_deref()).await?;
        deployment.require_full_commit();
        input.subjects = self.present_subjects(&deployment, &definition).await?;
        deployment.state = advance(deployment.state.clone(), &input, TIMING, deployment.now);
        deployment.lift_restrictions();
        deployment.lift_planned_failures();
        self.close_approvals(&mut deployment).await?;
        let opened = self.open_approvals(&mut deployment, &definition).await?;
        self.write_deployment(&deployment, &before, &definition, plan.as_deref()).await?;
        self.insert_approvals(opened, deployment.now).await?;
        self.update_slots(&deployment, &environments, input.is_held).await?;
        if plan.is_some() {
            self.mark_for_cleanup(&deployment, &definition).await?;
        }
        if deployment.state.status.is_final() {
            self.release_slot(&deployment).await?;
            self.mark_room_of(&deployment).await?;
            return Ok(Advanced::Done(Advance::ENDED));
        }
        let is_waiting = deployment.state.status == DeploymentStatus::Waiting;
        if is_waiting && before.status != DeploymentStatus::Waiting {
            self.mark_room_of(&deployment).await?;
        }
        let (dispatch, withdrawn) = self.unassigned_jobs(id).await?;
        let next_advance = next_advance_at(&deployment.state, TIMING).map(|at| {
            let until = at.duration_since(deployment.now).max(SignedDuration::ZERO);
            // Slightly late rather than slightly early: an early call would change nothing.
            until.unsigned_abs() + Duration::from_millis(50)
        });
        let fallback = if is_waiting { WAITING_POLL_INTERVAL } else { FALLBACK_POLL_INTERVAL };
        let again_in = Some(next_advance.unwrap_or(fallback).min(fallback));
        Ok(Advanced::Done(Advance { dispatch, withdrawn, again_in, ..Advance::default() }))
    }

    /// Locks the environment's row, then the deployment's, and then reads the stages.
    pub(crate) async fn lock_deployment(
        &mut self,
        id: DeploymentId,
    ) -> Result<Option<LockedDeployment>, StoreError> {
        let Some(mut deployment) = self.lock_without_stages(id).await? else { return Ok(None) };
        if deployment.planned && !deployment.state.status.is_final() {
            self.read_stages(&mut deployment).await?;
        }
        Ok(Some(deployment))
    }

    /// Like [`Self::lock_deployment`], without reading the stages.
    pub(crate) async fn lock_without_stages(
        &mut self,
        id: DeploymentId,
    ) -> Result<Option<LockedDeployment>, StoreError> {
        let organization = self.organization();
        let environment = sqlx::query!(
            r#"select e.id, e.name, e.slot_deployment_id
               from deployments d join environments e on e.organization_id = $1 and e.id = d.environment_id
               where d.organization_id = $1 and d.id = $2 for update of e"#,
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let row = sqlx::query!(
            r#"select d.pipeline_id, d.definition_version, d.session_id, d.purpose, d.commit_id, d.branch, d.trigger,
                      d.accepted_at, d.allow_older, d.created_by, d.status, d.reason, d.cancel_reason, d.planned_at is not null as "planned!", d.replan, d.created_at, d.started_at,
                      d.canceled_by, d.canceled_by_name, d.canceled_by_kind,
                      d.retried_by, d.retried_by_name, d.retried_by_kind,
                      p.repository is not null as "has_repository!", p.slug, p.status as pipeline_status,
                      p.stop_mode as "stop_mode?",
                      p.definition_version as current_version, clock_timestamp() as "now!",
                      exists (select 1 from runner_pools r
                          where r.organization_id = $1 and r.pipelines is not null) as "has_restricted_pools!"
               from deployments d join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               where d.organization_id = $1 and d.id = $2 for update of d"#,
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let cancel = parse_nullable_column("deployments.cancel_reason", row.cancel_reason.as_deref())?;
        let purpose = parse_column("deployments.purpose", &row.purpose)?;
        let stored = StoredDeployment {
            status: parse_column("deployments.status", &row.status)?,
            reason: parse_nullable_column("deployments.reason", row.reason.as_deref())?,
            created_at: row.created_at.to_jiff(),
            started_at: row.started_at.map(|at| at.to_jiff()),
        };
        let has_slot = environment.as_ref().is_none_or(|place| place.slot_deployment_id == Some(id.uuid()));
        Ok(Some(LockedDeployment {
            id,
            pipeline_id: row.pipeline_id.into(),
            pipeline_slug: row.slug,
            environment: environment.map(|place| (place.id.into(), place.name)),
            session_id: row.session_id,
            purpose,
            commit_id: row.commit_id,
            // Every job proves with its checkout that the commit is on the branch. Without a repository there
            // is no checkout, so conditions get an empty branch.
            branch: row.branch.filter(|_| row.has_repository),
            has_repository: row.has_repository,
            trigger: parse_column("deployments.trigger", &row.trigger)?,
            definition_version: row.definition_version,
            current_version: row.current_version,
            has_restricted_pools: row.has_restricted_pools,
            accepted_at: row.accepted_at.to_jiff(),
            allows_older: row.allow_older,
            created_by: row.created_by.into(),
            planned: row.planned,
            replan: row.replan,
            has_slot,
            pipeline_status: parse_column("pipelines.status", &row.pipeline_status)?,
            stop_mode: parse_nullable_column("pipelines.stop_mode", row.stop_mode.as_deref())?,
            state: Deployment {
                status: stored.status,
                reason: None,
                cancel,
                ends_by: ends_by(purpose, stored.started_at),
                stages: Vec::new(),
            },
            stage_columns: BTreeMap::new(),
            failure_details: BTreeMap::new(),
            approvals: BTreeMap::new(),
            canceled_by: PersonRecord::of(row.canceled_by, row.canceled_by_name, row.canceled_by_kind),
            retried_by: PersonRecord::of(row.retried_by, row.retried_by_name, row.retried_by_kind),
            stored,
            now: row.now.to_jiff(),
        }))
    }

    async fn advance_input(
        &mut self,
        deployment: &LockedDeployment,
        Gates { gates, gates_without_freezes }: Gates,
    ) -> Result<AdvanceInput, StoreError> {
        let purpose = deployment.purpose;
        let may_start = may_start(purpose, deployment.has_slot, deployment.pipeline_status);
        let is_blocked = deployment.state.status == DeploymentStatus::Queued && !may_start;
        let has_room = !is_blocked && self.has_room(deployment).await?;
        let is_held = is_held(purpose, deployment.stop_mode);
        Ok(AdvanceInput {
            can_start: may_start && has_room,
            has_room,
            is_held,
            gates,
            gates_without_freezes,
            subjects: BTreeMap::new(),
        })
    }

    /// Marks the environment of a session's deployment as in need of a clean-up.
    async fn mark_for_cleanup(
        &mut self,
        deployment: &LockedDeployment,
        definition: &Definition,
    ) -> Result<(), StoreError> {
        let Some((id, name)) =
            deployment.environment.as_ref().filter(|_| deployment.purpose == Purpose::Session)
        else {
            return Ok(());
        };
        if definition.ephemeral_settings(name).is_none_or(|settings| settings.on_release.is_empty()) {
            return Ok(());
        }
        let organization = self.organization();
        sqlx::query!(
            "update environments set cleanup = true where organization_id = $1 and id = $2 and not cleanup",
            organization,
            id.uuid()
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Returns the jobs without a runner: those that wait for one, and those that no longer do.
    async fn unassigned_jobs(&mut self, id: DeploymentId) -> Result<(Vec<Dispatch>, Vec<JobId>), StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select id, pool_id, status = 'queued' as "waits!" from jobs
               where organization_id = $1 and deployment_id = $2 and runner_id is null
               order by id"#,
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let (mut dispatch, mut withdrawn) = (Vec::new(), Vec::new());
        for row in rows {
            if row.waits {
                dispatch.push(Dispatch { job_id: row.id.into(), pool_id: row.pool_id.into() });
            } else {
                withdrawn.push(row.id.into());
            }
        }
        Ok((dispatch, withdrawn))
    }
}

impl LockedDeployment {
    pub(crate) fn definition_version(&self) -> i32 {
        self.definition_version
    }

    /// Returns the branch that the deployment names, if the pipeline has a repository.
    pub(crate) fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    fn plan_key(&self) -> PlanKey {
        let input = PlanInput {
            purpose: self.purpose,
            environment: self.environment.as_ref().map(|(_, name)| name.clone()),
            pipeline: self.pipeline_slug.clone(),
            branch: self.branch.clone().unwrap_or_default(),
            commit_id: self.commit_id.clone(),
            trigger: self.trigger,
        };
        PlanKey { definition_version: self.definition_version, input }
    }

    fn apply_plan(&mut self, computed: ComputedPlan) -> Vec<PlannedStage> {
        let stages = computed.plan.map(|plan| plan.stages);
        let result = stages.as_deref().map_err(|error| *error);
        if self.replan {
            self.state.apply_new_plan(result);
        } else {
            self.state.apply_plan(result);
        }
        let mut stages = stages.unwrap_or_default();
        // Stages that have ended keep the plan that they were run by.
        stages.retain(|planned| {
            let is_pending = |stage: &Stage| stage.status == StageStatus::Pending;
            self.state.stages.iter().any(|stage| stage.key == planned.key && is_pending(stage))
        });
        for stage in &stages {
            let columns = self.stage_columns.entry(stage.key.clone());
            columns
                .and_modify(|columns| columns.plan_again(stage))
                .or_insert_with(|| StageColumns::planned(stage));
        }
        stages
    }

    pub(crate) fn stage_rows<'a>(
        &'a self,
        before: &'a Deployment,
    ) -> impl Iterator<Item = StageRow<'a>> + 'a {
        self.state.stages.iter().map(|after| StageRow {
            before: before.stages.iter().find(|stage| stage.key == after.key),
            after,
        })
    }
}
