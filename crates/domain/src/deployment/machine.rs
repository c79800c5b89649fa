//! The state machine of a deployment: computes its next state from the current state, the input and the
//! current time. It has no side effects: the store reads the rows, calls [`advance`] and writes the
//! difference. [`advance`] is idempotent: a second call changes nothing.

use jiff::{SignedDuration, Timestamp};

use super::deadline::{AttemptTimes, Timing, deadline};
use super::plan::{NotPlanned, PlannedStage};
use super::status::{DeploymentStatus, JobStatus, Reason, StageStatus};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    pub status: DeploymentStatus,
    pub reason: Option<Reason>,
    /// Set if the deployment was canceled: why it has to end.
    pub cancel: Option<Reason>,
    /// The deadline of the deployment. Stages that have not ended by then are canceled, and the deployment
    /// fails.
    pub ends_by: Option<Timestamp>,
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub key: String,
    /// The stages of this deployment that have to succeed first.
    pub needs: Vec<String>,
    pub status: StageStatus,
    pub reason: Option<Reason>,
    /// Set for a stage that must not run. When it would start, it ends with this status and reason instead.
    pub planned_outcome: Option<(StageStatus, Reason)>,
    /// The stage waits for an approval before it starts.
    pub needs_approval: bool,
    pub timeout: SignedDuration,
    /// The maximum number of attempts. If no step of the newest attempt has started, at least
    /// [`MIN_UNSTARTED_ATTEMPTS`] are allowed.
    pub max_attempts: u32,
    pub backoff: SignedDuration,
    /// When the next attempt starts, while the stage backs off.
    pub retry_at: Option<Timestamp>,
    /// The number of the newest attempt, which is `job`; 0 before the first.
    pub attempt_number: u32,
    /// The number of attempts since the deployment started or a user retried the stage.
    pub attempts_since_retry: u32,
    pub job: Option<Job>,
}

/// An attempt of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    pub status: JobStatus,
    pub reason: Option<Reason>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    /// When the lease of its runner expires.
    pub lease_expires_at: Option<Timestamp>,
    /// A step has started, so it may have changed something outside of Greenroom.
    pub step_started: bool,
    /// Set when its runner has to end it.
    pub cancel: Option<Reason>,
}

/// What [`advance`] needs besides the state of the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvanceInput {
    /// Whether the deployment may start. If it has an environment, it must be the one deployment that may act
    /// on it, which is the holder of the environment's work slot. Unless it is a teardown, its pipeline must
    /// also be active and below its concurrency limit.
    pub can_start: bool,
    /// Whether no further stage may start, because the pipeline was stopped with `pause`.
    pub is_held: bool,
}

/// A stage gets at least this many attempts, whatever its `max_attempts`, if no step of the newest attempt
/// has started: that attempt has executed nothing, so repeating it is safe. An attempt that found no runner
/// is not repeated.
const MIN_UNSTARTED_ATTEMPTS: u32 = 3;

/// The minimum delay before a retry. It keeps a stage that fails immediately from looping. Without a delay,
/// [`advance`] would replace the ended attempt with the next one in the same call, and its end would never be
/// stored.
const MIN_BACKOFF: SignedDuration = SignedDuration::from_secs(1);

/// Returns the next state of the deployment.
///
/// The stages of a canceled deployment:
///
/// | Stage                | Newest attempt       | Stage afterwards                |
/// |----------------------|----------------------|---------------------------------|
/// | `pending`, `waiting` |                      | `canceled`                      |
/// | `queued`, `running`  | `queued`             | `canceled`, as the attempt      |
/// | `queued`, `running`  | `running`            | `running`, the attempt must end |
/// | `queued`, `running`  | `errored`, not last  | `canceled`, it is not repeated  |
/// | `queued`, `running`  | any other end        | the status of the attempt       |
/// | final                |                      | unchanged                       |
///
/// The deployment is `canceling` as long as a stage is `running`, and then `canceled`, or `failed` if it is
/// canceled because of its deadline.
pub fn advance(
    mut deployment: Deployment,
    input: AdvanceInput,
    timing: Timing,
    now: Timestamp,
) -> Deployment {
    if deployment.status.is_final() {
        return deployment;
    }
    if deployment.ends_by.is_some_and(|at| at <= now) {
        deployment.cancel.get_or_insert(Reason::TimedOut);
    }
    let canceling = deployment.cancel;
    for stage in &mut deployment.stages {
        stage.settle(canceling, timing, now);
    }
    if canceling.is_some() {
        deployment.cancel_unstarted_stages();
    } else if deployment.status == DeploymentStatus::Queued {
        if !input.can_start {
            return deployment;
        }
        deployment.status = DeploymentStatus::Running;
    }
    if canceling.is_none() {
        while deployment.start_stages(input.is_held, now) {}
    }
    deployment.conclude(input.is_held);
    deployment
}

/// Returns when [`advance`] has to be called again even if no event occurs: the earliest deadline or retry.
pub fn next_advance_at(deployment: &Deployment, timing: Timing) -> Option<Timestamp> {
    if deployment.status.is_final() {
        return None;
    }
    let ends_by = deployment.ends_by.filter(|_| deployment.cancel.is_none());
    deployment.stages.iter().filter_map(|stage| stage.next_advance_at(timing)).chain(ends_by).min()
}

impl Deployment {
    /// Adds the planned stages. A deployment that can't be planned ends immediately.
    pub fn apply_plan(&mut self, plan: Result<&[PlannedStage], NotPlanned>) {
        match plan {
            Ok(stages) => self.stages = stages.iter().map(Stage::planned).collect(),
            Err(NotPlanned) => {
                self.status = DeploymentStatus::Errored;
                self.reason = Some(Reason::InvalidDefinition);
            }
        }
    }

    fn cancel_unstarted_stages(&mut self) {
        for stage in &mut self.stages {
            if matches!(stage.status, StageStatus::Pending | StageStatus::Waiting) {
                stage.end(StageStatus::Canceled, Reason::DeploymentCanceled);
            }
        }
    }

    /// Returns whether a stage changed, in which case stages that need it may start as well.
    fn start_stages(&mut self, is_held: bool, now: Timestamp) -> bool {
        let mut changed = false;
        for index in 0..self.stages.len() {
            let Some(stage) = self.stages.get(index) else { break };
            if stage.status != StageStatus::Pending {
                continue;
            }
            let needed = || stage.needs.iter().filter_map(|key| self.status_of(key));
            let next = if needed().any(|status| {
                matches!(status, StageStatus::Failed | StageStatus::Errored | StageStatus::Canceled)
            }) {
                Some((StageStatus::Skipped, Some(Reason::UpstreamFailed)))
            } else if needed().any(|status| status == StageStatus::Skipped) {
                Some((StageStatus::Skipped, Some(Reason::UpstreamSkipped)))
            } else if !needed().all(|status| status == StageStatus::Succeeded) {
                None
            } else if let Some((status, reason)) = stage.planned_outcome {
                Some((status, Some(reason)))
            } else if is_held || stage.retry_at.is_some_and(|at| at > now) {
                None
            } else if stage.needs_approval {
                Some((StageStatus::Waiting, None))
            } else {
                Some((StageStatus::Queued, None))
            };
            if let Some((status, reason)) = next
                && let Some(stage) = self.stages.get_mut(index)
            {
                stage.status = status;
                stage.reason = reason;
                if status == StageStatus::Queued {
                    stage.dispatch(now);
                }
                changed = true;
            }
        }
        changed
    }

    fn status_of(&self, key: &str) -> Option<StageStatus> {
        self.stages.iter().find(|stage| stage.key == key).map(|stage| stage.status)
    }

    fn conclude(&mut self, is_held: bool) {
        let any = |status: StageStatus| self.stages.iter().any(|stage| stage.status == status);
        if self.stages.iter().all(|stage| stage.status.is_final()) {
            let (status, reason) = self.outcome();
            self.status = status;
            self.reason = reason;
        } else if self.cancel.is_some() {
            self.status = DeploymentStatus::Canceling;
        } else if any(StageStatus::Queued) || any(StageStatus::Running) {
            self.status = DeploymentStatus::Running;
        } else if is_held {
            self.status = DeploymentStatus::Paused;
        } else {
            self.status = DeploymentStatus::Waiting;
        }
    }

    fn outcome(&self) -> (DeploymentStatus, Option<Reason>) {
        let first = |status: StageStatus| self.stages.iter().find(|stage| stage.status == status);
        if let Some(cancel) = self.cancel {
            let abandoned = self.stages.iter().any(|stage| stage.reason == Some(Reason::Abandoned));
            let reason = if abandoned { Reason::Abandoned } else { cancel };
            let late = cancel == Reason::TimedOut;
            return (if late { DeploymentStatus::Failed } else { DeploymentStatus::Canceled }, Some(reason));
        }
        if let Some(stage) = first(StageStatus::Failed) {
            (DeploymentStatus::Failed, stage.reason)
        } else if let Some(stage) = first(StageStatus::Errored) {
            (DeploymentStatus::Errored, stage.reason)
        } else if let Some(stage) = first(StageStatus::Canceled) {
            (DeploymentStatus::Canceled, stage.reason)
        } else {
            (DeploymentStatus::Succeeded, None)
        }
    }
}

impl Stage {
    /// Returns the initial state of a planned stage.
    fn planned(planned: &PlannedStage) -> Self {
        let seconds = |seconds: u64| SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        Self {
            key: planned.key.clone(),
            needs: planned.needs.clone(),
            status: StageStatus::Pending,
            reason: None,
            planned_outcome: planned.planned_outcome,
            needs_approval: planned.needs_approval,
            timeout: seconds(planned.timeout_seconds),
            max_attempts: planned.max_attempts,
            backoff: seconds(planned.backoff_seconds),
            retry_at: None,
            attempt_number: 0,
            attempts_since_retry: 0,
            job: None,
        }
    }

    /// Applies cancellation and deadlines to the job, then takes over its status.
    fn settle(&mut self, canceling: Option<Reason>, timing: Timing, now: Timestamp) {
        if !matches!(self.status, StageStatus::Queued | StageStatus::Running) {
            return;
        }
        let Some(mut job) = self.job else { return };
        if let Some(reason) = canceling
            && !job.status.is_final()
        {
            job.cancel.get_or_insert(reason);
        }
        match job.status {
            JobStatus::Queued => {
                if job.cancel.is_some() {
                    job.end(JobStatus::Canceled, None);
                } else if self.deadline(StageStatus::Queued, job, timing).is_some_and(|at| at <= now) {
                    job.end(JobStatus::Errored, Some(Reason::NoRunner));
                }
            }
            JobStatus::Running => {
                if self.is_overdue(job, timing, now) {
                    job.cancel.get_or_insert(Reason::TimedOut);
                }
                if job.is_lost(timing, now) {
                    match job.cancel {
                        Some(_) => job.end(JobStatus::Canceled, Some(Reason::Abandoned)),
                        None => job.end(JobStatus::Errored, Some(Reason::RunnerLost)),
                    }
                }
            }
            _ => {}
        }
        self.job = Some(job);
        self.apply_job(job, now);
    }

    fn apply_job(&mut self, job: Job, now: Timestamp) {
        match job.status {
            JobStatus::Queued => self.status = StageStatus::Queued,
            JobStatus::Running => self.status = StageStatus::Running,
            JobStatus::Succeeded => {
                self.status = StageStatus::Succeeded;
                self.reason = None;
            }
            JobStatus::Failed => self.end(StageStatus::Failed, job.reason.unwrap_or(Reason::StepFailed)),
            JobStatus::Canceled if job.cancel == Some(Reason::TimedOut) => {
                self.end(StageStatus::Failed, Reason::TimedOut);
            }
            JobStatus::Canceled => {
                let reason = job.reason.or(job.cancel).unwrap_or(Reason::DeploymentCanceled);
                self.end(StageStatus::Canceled, reason);
            }
            JobStatus::Errored if job.cancel.is_some() => {
                self.end(StageStatus::Canceled, job.cancel.unwrap_or(Reason::DeploymentCanceled));
            }
            JobStatus::Errored if self.attempts_since_retry < self.allowed_attempts(job) => {
                self.status = StageStatus::Pending;
                self.reason = job.reason;
                self.retry_at = now.saturating_add(self.backoff.max(MIN_BACKOFF)).ok();
            }
            JobStatus::Errored => self.end(StageStatus::Errored, job.reason.unwrap_or(Reason::RunnerError)),
        }
    }

    const fn allowed_attempts(&self, job: Job) -> u32 {
        // Another attempt would find no runner either.
        if matches!(job.reason, Some(Reason::NoRunner)) {
            0
        } else if job.step_started || self.max_attempts > MIN_UNSTARTED_ATTEMPTS {
            self.max_attempts
        } else {
            MIN_UNSTARTED_ATTEMPTS
        }
    }

    fn dispatch(&mut self, now: Timestamp) {
        self.attempt_number += 1;
        self.attempts_since_retry += 1;
        self.retry_at = None;
        self.job = Some(Job {
            status: JobStatus::Queued,
            reason: None,
            queued_at: now,
            started_at: None,
            lease_expires_at: None,
            step_started: false,
            cancel: None,
        });
    }

    pub(super) fn end(&mut self, status: StageStatus, reason: Reason) {
        self.status = status;
        self.reason = Some(reason);
        self.retry_at = None;
    }

    fn is_overdue(&self, job: Job, timing: Timing, now: Timestamp) -> bool {
        self.overdue_at(job, timing).is_some_and(|at| at <= now)
    }

    fn overdue_at(&self, job: Job, timing: Timing) -> Option<Timestamp> {
        let ends = self.deadline(StageStatus::Running, job, timing)?;
        ends.saturating_add(timing.timeout_slack).ok()
    }

    fn deadline(&self, status: StageStatus, job: Job, timing: Timing) -> Option<Timestamp> {
        deadline(status, job.times(), self.timeout, timing)
    }

    fn next_advance_at(&self, timing: Timing) -> Option<Timestamp> {
        match (self.status, self.job) {
            (StageStatus::Pending, _) => self.retry_at,
            (StageStatus::Queued, Some(job)) => self.deadline(self.status, job, timing),
            (StageStatus::Running, Some(job)) => {
                let overdue = self.overdue_at(job, timing).filter(|_| job.cancel.is_none());
                [overdue, job.lost_at(timing)].into_iter().flatten().min()
            }
            _ => None,
        }
    }
}

impl Job {
    fn end(&mut self, status: JobStatus, reason: Option<Reason>) {
        self.status = status;
        self.reason = reason;
    }

    const fn times(&self) -> AttemptTimes {
        AttemptTimes { queued_at: self.queued_at, started_at: self.started_at }
    }

    fn is_lost(&self, timing: Timing, now: Timestamp) -> bool {
        self.lost_at(timing).is_some_and(|at| at <= now)
    }

    fn lost_at(&self, timing: Timing) -> Option<Timestamp> {
        self.lease_expires_at?.saturating_add(timing.lease_grace).ok()
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
