//! A stage of a deployment with its newest attempt, and how both change with the time and with the attempt's
//! status. The state machine of the deployment (`machine`) calls this.

use jiff::{SignedDuration, Timestamp};

use super::deadline::{AttemptTimes, Timing, deadline};
use super::gate::Blocker;
use super::plan::PlannedStage;
use super::status::{JobStatus, Reason, StageStatus};
use crate::approval::Gate;

/// A stage gets at least this many attempts, whatever its `max_attempts`, if no step of the newest attempt
/// has started: that attempt has executed nothing, so repeating it is safe. An attempt that found no runner
/// is not repeated.
const MIN_UNSTARTED_ATTEMPTS: u32 = 3;

/// The minimum delay before a retry. It keeps a stage that fails immediately from looping. Without a delay,
/// [`advance`](super::advance) would replace the ended attempt with the next one in the same call, and its end would never be
/// stored.
const MIN_BACKOFF: SignedDuration = SignedDuration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    pub key: String,
    /// The stages of this deployment that have to succeed first.
    pub needs: Vec<String>,
    pub status: StageStatus,
    pub reason: Option<Reason>,
    /// Set for a stage that must not run. When it would start, it ends with this status and reason instead.
    pub planned_outcome: Option<(StageStatus, Reason)>,
    /// Whether it needs an approval before it starts, and has one.
    pub gate: Gate,
    /// The lasting environment that it deploys to.
    pub environment: Option<String>,
    /// An admin has let it begin although its environment is frozen.
    pub ignores_freeze: bool,
    /// Why it waits, unless it waits for an approval.
    pub blocker: Option<Blocker>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Stage {
    /// Returns the initial state of a planned stage.
    pub(super) fn planned(planned: &PlannedStage) -> Self {
        let seconds = |seconds: u64| SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        Self {
            key: planned.key.clone(),
            needs: planned.needs.clone(),
            status: StageStatus::Pending,
            reason: None,
            planned_outcome: planned.planned_outcome,
            gate: Gate::planned(planned.needs_approval),
            environment: planned.environment.clone(),
            ignores_freeze: false,
            blocker: None,
            timeout: seconds(planned.timeout_seconds),
            max_attempts: planned.max_attempts,
            backoff: seconds(planned.backoff_seconds),
            retry_at: None,
            attempt_number: 0,
            attempts_since_retry: 0,
            job: None,
        }
    }

    /// Takes the job back that no runner has taken yet, because the stage may not begin any more.
    pub(super) fn withdraw(&mut self) {
        if let Some(job) = &mut self.job
            && job.status == JobStatus::Queued
        {
            job.end(JobStatus::Errored, Some(Reason::GateClosed));
        }
    }

    /// Applies cancellation and deadlines to the job, then takes over its status.
    pub(super) fn settle(&mut self, canceling: Option<Reason>, timing: Timing, now: Timestamp) {
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
            // The stage waits until it may begin. Nothing has run, so the attempt does not count.
            JobStatus::Errored if job.reason == Some(Reason::GateClosed) => {
                self.status = StageStatus::Pending;
                self.reason = None;
                self.attempts_since_retry = self.attempts_since_retry.saturating_sub(1);
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

    pub(super) fn dispatch(&mut self, now: Timestamp) {
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
        self.blocker = None;
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

    pub(super) fn next_advance_at(&self, timing: Timing) -> Option<Timestamp> {
        match (self.status, self.job) {
            (StageStatus::Pending, _) => self.retry_at,
            (StageStatus::Waiting, _) => {
                let unblocked = self.blocker.as_ref().and_then(Blocker::until);
                [unblocked, self.gate.changes_at()].into_iter().flatten().min()
            }
            (StageStatus::Queued, Some(job)) => {
                let deadline = self.deadline(self.status, job, timing);
                [deadline, self.gate.changes_at()].into_iter().flatten().min()
            }
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
