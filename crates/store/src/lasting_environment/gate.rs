//! Decides whether stages may begin in lasting environments. The decision itself is the domain's
//! (`domain/deployment/gate.rs`).

use greenroom_domain::deployment::{
    Blocker, Freeze, GateCandidate, GateDecision, Hold, HoldBy, LastingEnvironment, Slot, decide,
};
use greenroom_domain::id::{DeploymentId, JobId, PipelineId};
use jiff::Timestamp;

use crate::StoreError;
use crate::deployment::{Gates, LockedDeployment};
use crate::freeze::ActiveFreeze;
use crate::transaction::OrgTransaction;

/// The lasting environments of a deployment, whose rows this transaction has locked.
#[derive(Debug, Default)]
pub(crate) struct LockedEnvironments(pub(super) Vec<LockedLasting>);

#[derive(Debug)]
pub(super) struct LockedLasting {
    pub(super) name: String,
    pub(super) fence: i64,
    pub(super) state: LastingEnvironment,
}

/// The columns of an environment that the decision needs.
struct Row {
    name: String,
    fence: i64,
    slot_deployment_id: Option<uuid::Uuid>,
    slot_has_begun: bool,
    newest_accepted_at: Option<jiff_sqlx::Timestamp>,
    held_by: Option<uuid::Uuid>,
    held_by_name: Option<String>,
    held_reason: Option<String>,
    held_until: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for LockedLasting {
    fn from(row: Row) -> Self {
        let hold = match (row.held_by, row.held_by_name, row.held_reason, row.held_until) {
            (Some(id), Some(name), Some(reason), Some(until)) => {
                Some(Hold { by: HoldBy { id: id.into(), name }, reason, until: until.to_jiff() })
            }
            _ => None,
        };
        let slot = row.slot_deployment_id.map(|deployment| Slot {
            deployment: deployment.into(),
            has_begun: row.slot_has_begun,
            is_blocked_by_older: false,
        });
        let newest_live = row.newest_accepted_at.map(jiff_sqlx::Timestamp::to_jiff);
        let state = LastingEnvironment { is_denied: false, slot, newest_live, freeze: None, hold };
        Self { name: row.name, fence: row.fence, state }
    }
}

/// Whether the first step of a job may start.
pub(crate) enum StartGate {
    Open,
    /// Another deployment has the environment's slot. Does not happen unless an operator has repaired the slot.
    SlotLost,
    /// The stage may not begin any more, with an explanation.
    Closed(String),
}

impl OrgTransaction {
    /// Locks the lasting environments of the deployment's stages or, if they are still to be planned, all of its pipeline.
    pub(crate) async fn lock_lasting_environments(
        &mut self,
        deployment: DeploymentId,
    ) -> Result<LockedEnvironments, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query_as!(
            Row,
            "select e.name, e.fence, e.slot_deployment_id, e.slot_has_begun, e.newest_accepted_at, e.held_by,
                    e.held_by_name, e.held_reason, e.held_until
             from lasting_environments e
             join deployments d on d.organization_id = $1 and d.id = $2 and d.pipeline_id = e.pipeline_id
             where e.organization_id = $1 and d.purpose = 'pipeline'
               and (d.planned_at is null or d.replan or exists (select 1 from stages s
                   where s.organization_id = $1 and s.deployment_id = $2 and s.environment = e.name))
             order by e.name for update of e",
            organization,
            deployment.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(LockedEnvironments(rows.into_iter().map(LockedLasting::from).collect()))
    }

    /// Decides for each environment whether stages of the deployment may begin there.
    pub(crate) async fn decide_gates(
        &mut self,
        deployment: &LockedDeployment,
        environments: &mut LockedEnvironments,
    ) -> Result<Gates, StoreError> {
        let own = deployment.id;
        let has_slot =
            |environment: &LockedLasting| environment.state.slot.is_some_and(|slot| slot.deployment == own);
        // A deployment without a slot blocks no other.
        let may_block = environments.0.iter().any(has_slot);
        let names: Vec<String> = environments.0.iter().map(|environment| environment.name.clone()).collect();
        let mut freezes = self.freeze_of(deployment.pipeline_id, &names, deployment.now).await?;
        let versions = (deployment.current_version, deployment.definition_version());
        let started_by = deployment.gate_candidate().started_by;
        let denied = self.denied_environments(deployment.pipeline_id, versions, started_by, &names).await?;
        let Gates { mut gates, mut gates_without_freezes } = Gates::default();
        for environment in &mut environments.0 {
            if let Some(slot) = &mut environment.state.slot
                && slot.deployment != own
                && may_block
            {
                slot.is_blocked_by_older = self.is_oldest_of_cycle(deployment, slot.deployment).await?;
            }
            environment.state.is_denied = denied.contains(&environment.name);
            environment.state.freeze = None;
            let decision = decide(deployment.gate_candidate(), &environment.state, deployment.now);
            gates_without_freezes.insert(environment.name.clone(), decision);
            environment.state.freeze = freezes.remove(&environment.name).map(freeze);
            let decision = decide(deployment.gate_candidate(), &environment.state, deployment.now);
            gates.insert(environment.name.clone(), decision);
        }
        Ok(Gates { gates, gates_without_freezes })
    }

    /// Returns whether the holder of a slot waits, possibly through others, for a slot of this deployment, and this one
    /// was accepted first of them. If another one was first, that one is woken up: it ends the cycle.
    async fn is_oldest_of_cycle(
        &mut self,
        deployment: &LockedDeployment,
        holder: DeploymentId,
    ) -> Result<bool, StoreError> {
        let organization = self.organization();
        let members = sqlx::query_scalar!(
            r#"with recursive waits (deployment_id) as (
                   select $3::uuid
                   union
                   select e.slot_deployment_id from waits w
                   join stages s on s.organization_id = $1 and s.deployment_id = w.deployment_id
                       and s.status = 'waiting' and s.blocker ->> 'kind' = 'work_slot'
                   join lasting_environments e on e.organization_id = $1 and e.pipeline_id = $2
                       and e.name = s.environment
                   where e.slot_deployment_id is not null
               )
               select d.id from waits w join deployments d on d.organization_id = $1 and d.id = w.deployment_id
               order by d.accepted_at, d.id"#,
            organization,
            deployment.pipeline_id.uuid(),
            holder.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        if !members.contains(&deployment.id.uuid()) {
            return Ok(false);
        }
        match members.first() {
            Some(oldest) if *oldest != deployment.id.uuid() => {
                self.wake((*oldest).into()).await?;
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    /// Checks, before a step of a deployment of a whole pipeline starts, whether its stage may begin in its lasting
    /// environment. If it may, records that the deployment has begun there. The caller has locked nothing yet.
    pub(crate) async fn check_start_gate(&mut self, job: JobId) -> Result<StartGate, StoreError> {
        let organization = self.organization();
        let found = sqlx::query!(
            "select e.name, e.fence, e.slot_deployment_id, e.slot_has_begun, e.newest_accepted_at, e.held_by,
                    e.held_by_name, e.held_reason, e.held_until, e.pipeline_id,
                    s.ignores_freeze, j.touched, d.id as deployment_id, d.accepted_at, d.allow_older, d.created_by,
                    d.retried_by, d.definition_version, p.definition_version as current_version
             from jobs j
             join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
             join stages s on s.organization_id = $1 and s.deployment_id = d.id and s.key = j.stage_key
             join lasting_environments e on e.organization_id = $1 and e.pipeline_id = d.pipeline_id
                 and e.name = s.environment
             where j.organization_id = $1 and j.id = $2 for update of e",
            organization,
            job.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = found else { return Ok(StartGate::Open) };
        let candidate = GateCandidate {
            deployment: row.deployment_id.into(),
            accepted_at: row.accepted_at.to_jiff(),
            allows_older: row.allow_older,
            started_by: row.retried_by.unwrap_or(row.created_by).into(),
        };
        let (pipeline, is_later_step) = (PipelineId::from(row.pipeline_id), row.touched);
        let versions = (row.current_version, row.definition_version);
        let ignores_freeze = row.ignores_freeze;
        let mut environment = LockedLasting::from(Row {
            name: row.name,
            fence: row.fence,
            slot_deployment_id: row.slot_deployment_id,
            slot_has_begun: row.slot_has_begun,
            newest_accepted_at: row.newest_accepted_at,
            held_by: row.held_by,
            held_by_name: row.held_by_name,
            held_reason: row.held_reason,
            held_until: row.held_until,
        });
        if environment.state.slot.is_none_or(|slot| slot.deployment != candidate.deployment) {
            return Ok(StartGate::SlotLost);
        }
        // What runs goes on.
        if is_later_step {
            return Ok(StartGate::Open);
        }
        // Before the time is read: a freeze that is created meanwhile may begin now.
        self.share_freezes().await?;
        let now = self.now().await?;
        let names = [environment.name.clone()];
        let found = self.freeze_of(pipeline, &names, now).await?.remove(&environment.name);
        environment.state.freeze = found.filter(|_| !ignores_freeze).map(freeze);
        let denied = self.denied_environments(pipeline, versions, candidate.started_by, &names).await?;
        environment.state.is_denied = denied.contains(&environment.name);
        match decide(candidate, &environment.state, now) {
            GateDecision::Begin => {
                self.record_begin(pipeline, &environment, candidate, now).await?;
                Ok(StartGate::Open)
            }
            closed => Ok(StartGate::Closed(explain(&closed, &environment.name))),
        }
    }
}

fn freeze(active: ActiveFreeze) -> Freeze {
    Freeze { id: active.id, name: active.name, until: active.until }
}

fn explain(decision: &GateDecision, environment: &str) -> String {
    match decision {
        GateDecision::Begin | GateDecision::Wait(Blocker::Concurrency) => String::new(),
        GateDecision::Denied => {
            format!("the user who started or last retried the deployment may not deploy to `{environment}`")
        }
        GateDecision::Outdated => format!("a deployment that was accepted later was live in `{environment}`"),
        GateDecision::Wait(Blocker::WorkSlot { deployment }) => {
            format!("{deployment} works in `{environment}`")
        }
        GateDecision::Wait(Blocker::Freeze(freeze)) => {
            format!("`{environment}` is frozen until {}: {}", freeze.until, freeze.name)
        }
        GateDecision::Wait(Blocker::Hold(hold)) => {
            format!("{} holds `{environment}` until {}: {}", hold.by.name, hold.until, hold.reason)
        }
    }
}

impl LockedDeployment {
    pub(super) fn gate_candidate(&self) -> GateCandidate {
        GateCandidate {
            deployment: self.id,
            accepted_at: self.accepted_at,
            allows_older: self.allows_older,
            started_by: self.retried_by.as_ref().map_or(self.created_by, |by| by.id),
        }
    }
}

pub(super) fn time(at: Timestamp) -> jiff_sqlx::Timestamp {
    jiff_sqlx::Timestamp::from(at)
}
