//! Takes a deployment on: locks its rows, lets the domain's machine decide, writes the difference and tells it.
//!
//! The order of locks is the environment's row, then the deployment's. Everything below the deployment (stages, jobs,
//! steps) is changed only by who holds the deployment's row.

use std::sync::Arc;
use std::time::Duration;

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{
    Cancel, Deployment, DeploymentStatus, Facts, PlannedStage, Purpose, Reason, Scene, Stage, StageStatus,
    Timing, advance, ends_by, next_look,
};
use greenroom_domain::id::{DeploymentId, EnvironmentId, JobId, PipelineId};
use greenroom_domain::pipeline::{PipelineStatus, StopMode};
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::deployment::planning::{MadePlan, PlanInputs};
use crate::deployment::stages::StageRow;
use crate::engine::{Advance, Dispatch};
use crate::error::word;
use crate::planted::{self, Bug};

/// How long jobs may take about things. The lease of a job plus this is when nothing of its steps runs any more.
pub const TIMING: Timing = Timing {
    grace: SignedDuration::from_secs(30),
    longest_queue: SignedDuration::from_secs(24 * 3_600),
    timeout_slack: SignedDuration::from_secs(60),
};
/// The workflow is woken by whatever happens; this is for what nobody would have told it.
const LOOK_AGAIN: Duration = Duration::from_secs(600);

/// A deployment whose row this transaction holds, and what it runs.
pub(crate) struct Held {
    pub(crate) id: DeploymentId,
    pub(crate) pipeline_id: PipelineId,
    pub(crate) pipeline_slug: String,
    pub(crate) environment: Option<(EnvironmentId, String)>,
    pub(crate) session_id: Option<uuid::Uuid>,
    pub(crate) purpose: Purpose,
    pub(crate) commit_id: String,
    branch: Option<String>,
    trigger: String,
    definition_version: i32,
    /// Of the pipeline, by now.
    pub(crate) current_version: i32,
    /// The organization has pools that don't take every job.
    pub(crate) has_restricted_pools: bool,
    planned: bool,
    has_slot: bool,
    pipeline_status: PipelineStatus,
    stop_mode: Option<StopMode>,
    pub(crate) state: Deployment,
    /// Who has or had the newest attempts of its stages.
    pub(crate) runners: Vec<(String, Actor)>,
    pub(crate) now: Timestamp,
}

/// How far a transaction took a deployment.
pub(crate) enum Advanced {
    Done(Advance),
    /// There is no such deployment.
    Missing,
    /// It can begin once it is planned. Nothing was changed: make the plan outside of the transaction and come back.
    NeedsPlan(PlanInputs, Arc<Definition>),
}

impl Change {
    /// `made` is used if it was made from what the deployment's row says now.
    pub(crate) async fn advance(
        &mut self,
        id: DeploymentId,
        made: Option<MadePlan>,
    ) -> Result<Advanced, StoreError> {
        let Some(mut held) = self.hold_deployment(id).await? else { return Ok(Advanced::Missing) };
        if held.state.status.is_end() {
            return Ok(Advanced::Done(Advance::ENDED));
        }
        let before = held.state.clone();
        let definition = self.definition_of(held.pipeline_id, held.definition_version).await?;
        let facts = self.facts(&held).await?;
        let mut plan = None;
        if !held.planned && facts.may_begin && held.state.cancel.is_none() {
            let inputs = held.plan_inputs();
            let made = match made.filter(|made| made.inputs == inputs) {
                Some(made) => made,
                None if PlanInputs::is_cheap(&definition) => inputs.make(&definition),
                None => return Ok(Advanced::NeedsPlan(inputs, definition)),
            };
            plan = Some(held.use_plan(made));
        }
        self.restrict_pools(&mut held, &definition, plan.as_deref()).await?;
        held.state = advance(held.state.clone(), facts, held.timing(), held.now);
        held.lift_restrictions();
        self.write_deployment(&held, &before, &definition, plan.as_deref()).await?;
        if plan.is_some() {
            self.note_what_to_clean_up(&held, &definition).await?;
        }
        if held.state.status.is_end() {
            self.pass_slot_on(&held).await?;
            self.note_room_of_ended(&held).await?;
            return Ok(Advanced::Done(Advance::ENDED));
        }
        let (dispatch, withdrawn) = self.untaken_jobs(id).await?;
        let look = next_look(&held.state, held.timing()).map(|at| {
            let until = at.duration_since(held.now).max(SignedDuration::ZERO);
            // A little later rather than a little too early, which would be for nothing.
            until.unsigned_abs() + Duration::from_millis(50)
        });
        let again_in = Some(look.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN));
        Ok(Advanced::Done(Advance { dispatch, withdrawn, again_in, ended: false, woke: false }))
    }

    /// Locks the environment's row, then the deployment's, and reads the rest after that.
    pub(crate) async fn hold_deployment(&mut self, id: DeploymentId) -> Result<Option<Held>, StoreError> {
        let Some(mut held) = self.hold_without_stages(id).await? else { return Ok(None) };
        if held.planned && !held.state.status.is_end() {
            (held.state.stages, held.runners) = self.stages_of(id).await?;
        }
        Ok(Some(held))
    }

    /// The same, for who does not ask what its stages are doing.
    pub(crate) async fn hold_without_stages(&mut self, id: DeploymentId) -> Result<Option<Held>, StoreError> {
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
                      d.status, d.reason, d.cancel_reason, d.planned_at is not null as "planned!", d.started_at,
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
        let cancel =
            row.cancel_reason.as_deref().map(|text| word("deployments.cancel_reason", text)).transpose()?;
        let purpose = word("deployments.purpose", &row.purpose)?;
        let has_slot = environment.as_ref().is_none_or(|place| place.slot_deployment_id == Some(id.uuid()));
        Ok(Some(Held {
            id,
            pipeline_id: row.pipeline_id.into(),
            pipeline_slug: row.slug,
            environment: environment.map(|place| (place.id.into(), place.name)),
            session_id: row.session_id,
            purpose,
            commit_id: row.commit_id,
            // Without a repository nothing can be proven, so conditions see no branch.
            branch: row.branch.filter(|_| row.has_repository),
            trigger: row.trigger,
            definition_version: row.definition_version,
            current_version: row.current_version,
            has_restricted_pools: row.has_restricted_pools,
            planned: row.planned,
            has_slot,
            pipeline_status: word("pipelines.status", &row.pipeline_status)?,
            stop_mode: row.stop_mode.as_deref().map(|text| word("pipelines.stop_mode", text)).transpose()?,
            state: Deployment {
                status: word("deployments.status", &row.status)?,
                reason: None,
                cancel: cancel.map(|reason| Cancel { reason }),
                ends_by: ends_by(purpose, row.started_at.map(|at| at.to_jiff())),
                stages: Vec::new(),
            },
            runners: Vec::new(),
            now: row.now.to_jiff(),
        }))
    }

    async fn facts(&mut self, held: &Held) -> Result<Facts, StoreError> {
        // Cleaning up goes on whatever else is stopped: others wait for it.
        let teardown = held.purpose == Purpose::Teardown;
        let active = teardown || held.pipeline_status == PipelineStatus::Active;
        let may_begin = held.has_slot && active && (teardown || self.has_room(held).await?);
        Ok(Facts { may_begin, held: !teardown && held.stop_mode == Some(StopMode::Pause) })
    }

    pub(crate) async fn definition_of(
        &mut self,
        pipeline: PipelineId,
        version: i32,
    ) -> Result<Arc<Definition>, StoreError> {
        let organization = self.organization();
        let key = (organization, pipeline.uuid(), version);
        if let Some(known) = self.definitions().get(&key) {
            return Ok(known);
        }
        let json = sqlx::query_scalar!(
            "select definition from pipeline_versions
             where organization_id = $1 and pipeline_id = $2 and version = $3",
            organization,
            pipeline.uuid(),
            version,
        )
        .fetch_one(self.connection())
        .await?;
        let definition = serde_json::from_value(json).map_err(|error| StoreError::Unreadable {
            column: "pipeline_versions.definition",
            value: error.to_string(),
        })?;
        let definition = Arc::new(definition);
        self.definitions().keep(key, &definition);
        Ok(definition)
    }

    /// From now on the environment has something in it.
    async fn note_what_to_clean_up(
        &mut self,
        held: &Held,
        definition: &Definition,
    ) -> Result<(), StoreError> {
        let Some((id, name)) = held.environment.as_ref().filter(|_| held.purpose == Purpose::Session) else {
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

    /// Jobs that no runner has taken: those that wait for one, and those that do so no more.
    async fn untaken_jobs(&mut self, id: DeploymentId) -> Result<(Vec<Dispatch>, Vec<JobId>), StoreError> {
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

impl Held {
    fn timing(&self) -> Timing {
        if planted::is(Bug::LostAtOnce) {
            return Timing { grace: SignedDuration::ZERO, ..TIMING };
        }
        TIMING
    }

    pub(crate) fn definition_version(&self) -> i32 {
        self.definition_version
    }

    fn plan_inputs(&self) -> PlanInputs {
        let scene = Scene {
            purpose: self.purpose,
            environment: self.environment.as_ref().map(|(_, name)| name.clone()),
            pipeline: self.pipeline_slug.clone(),
            branch: self.branch.clone().unwrap_or_default(),
            commit_id: self.commit_id.clone(),
            trigger: self.trigger.clone(),
        };
        PlanInputs { definition_version: self.definition_version, scene }
    }

    /// Fills in the stages. What can't be planned ends at once.
    fn use_plan(&mut self, made: MadePlan) -> Vec<PlannedStage> {
        let Ok(plan) = made.plan else {
            self.state.status = DeploymentStatus::Errored;
            self.state.reason = Some(Reason::InvalidDefinition);
            return Vec::new();
        };
        self.state.stages = plan.stages.iter().map(fresh).collect();
        plan.stages
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

/// A stage of which nothing has happened yet.
fn fresh(planned: &PlannedStage) -> Stage {
    let seconds = |seconds: u64| SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
    Stage {
        key: planned.key.clone(),
        needs: planned.needs.clone(),
        status: StageStatus::Pending,
        reason: None,
        verdict: planned.verdict,
        gated: planned.gated,
        timeout: seconds(planned.timeout_seconds),
        attempts: planned.attempts,
        backoff: seconds(planned.backoff_seconds),
        retry_at: None,
        attempt: 0,
        tried: 0,
        job: None,
    }
}
