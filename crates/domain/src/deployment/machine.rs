//! How a deployment goes on: from how it stands, what is around it and the time, to how it stands next. Pure: the store
//! holds the rows, asks, and writes down the difference. Asking twice changes nothing the second time.

use jiff::{SignedDuration, Timestamp};

use super::deadline::{AttemptTimes, deadline};
use super::status::{DeploymentStatus, JobStatus, Reason, StageStatus};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    pub status: DeploymentStatus,
    pub reason: Option<Reason>,
    /// It is to end.
    pub cancel: Option<Cancel>,
    /// What is not over by then is ended, and has failed.
    pub ends_by: Option<Timestamp>,
    pub stages: Vec<Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    pub reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub key: String,
    /// Of the stages of this deployment, those that have to succeed first.
    pub needs: Vec<String>,
    pub status: StageStatus,
    pub reason: Option<Reason>,
    /// Decided when it was planned, and carried out when its turn comes: it is skipped, or can't be run.
    pub verdict: Option<(StageStatus, Reason)>,
    /// Somebody has to agree before it starts.
    pub gated: bool,
    pub timeout: SignedDuration,
    /// How often it may be tried in all, once a step of it has started.
    pub attempts: u32,
    pub backoff: SignedDuration,
    /// Until when it pauses before it is tried again.
    pub retry_at: Option<Timestamp>,
    /// How often it has been tried; the newest attempt is `job`.
    pub attempt: u32,
    /// How often it has been tried since somebody asked for it.
    pub tried: u32,
    pub job: Option<Job>,
}

/// An attempt of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    pub status: JobStatus,
    pub reason: Option<Reason>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    /// Until when its runner may act.
    pub lease_expires_at: Option<Timestamp>,
    /// A step of it has started: something may have been changed outside.
    pub touched: bool,
    /// Its runner is asked to end it.
    pub cancel: Option<Reason>,
}

/// What is around a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// It has the work slot, the pipeline lets it, and there is room beside the others.
    pub may_begin: bool,
    /// No further stage may begin.
    pub held: bool,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long after the end of its lease nothing of a silent runner's step runs any more, for certain.
    pub grace: SignedDuration,
    /// How long a job waits for a runner.
    pub longest_queue: SignedDuration,
    /// A runner ends what takes too long itself; this is how much longer it may take about it.
    pub timeout_slack: SignedDuration,
}

/// How often an attempt is made in which no step ever started: nothing can have happened twice.
const UNTOUCHED_ATTEMPTS: u32 = 3;

/// Before anything is tried again, so that what fails at once does not spin; and so that an attempt's end is there to be
/// seen before the next one begins.
const SHORTEST_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Where it stands next.
pub fn advance(mut deployment: Deployment, facts: Facts, timing: Timing, now: Timestamp) -> Deployment {
    if deployment.status.is_end() {
        return deployment;
    }
    if deployment.ends_by.is_some_and(|at| at <= now) {
        deployment.cancel.get_or_insert(Cancel { reason: Reason::TimedOut });
    }
    let canceling = deployment.cancel;
    for stage in &mut deployment.stages {
        stage.settle(canceling, timing, now);
    }
    if canceling.is_some() {
        deployment.end_what_has_not_begun();
    } else if deployment.status == DeploymentStatus::Queued {
        if !facts.may_begin {
            return deployment;
        }
        deployment.status = DeploymentStatus::Running;
    }
    if canceling.is_none() {
        while deployment.begin_stages(facts.held, now) {}
    }
    deployment.conclude(facts.held);
    deployment
}

/// When to look again, if nothing is heard before.
pub fn next_look(deployment: &Deployment, timing: Timing) -> Option<Timestamp> {
    if deployment.status.is_end() {
        return None;
    }
    let ends_by = deployment.ends_by.filter(|_| deployment.cancel.is_none());
    deployment.stages.iter().filter_map(|stage| stage.next_look(timing)).chain(ends_by).min()
}

impl Deployment {
    fn end_what_has_not_begun(&mut self) {
        for stage in &mut self.stages {
            if matches!(stage.status, StageStatus::Pending | StageStatus::Waiting) {
                stage.end(StageStatus::Canceled, Reason::DeploymentCanceled);
            }
        }
    }

    /// Whether anything changed, so that what follows may be looked at again.
    fn begin_stages(&mut self, held: bool, now: Timestamp) -> bool {
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
            } else if let Some((status, reason)) = stage.verdict {
                Some((status, Some(reason)))
            } else if held || stage.retry_at.is_some_and(|at| at > now) {
                None
            } else if stage.gated {
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

    fn conclude(&mut self, held: bool) {
        let any = |status: StageStatus| self.stages.iter().any(|stage| stage.status == status);
        if self.stages.iter().all(|stage| stage.status.is_end()) {
            let (status, reason) = self.outcome();
            self.status = status;
            self.reason = reason;
        } else if self.cancel.is_some() {
            self.status = DeploymentStatus::Canceling;
        } else if any(StageStatus::Queued) || any(StageStatus::Running) {
            self.status = DeploymentStatus::Running;
        } else if held {
            self.status = DeploymentStatus::Paused;
        } else {
            self.status = DeploymentStatus::Waiting;
        }
    }

    fn outcome(&self) -> (DeploymentStatus, Option<Reason>) {
        let first = |status: StageStatus| self.stages.iter().find(|stage| stage.status == status);
        if let Some(cancel) = self.cancel {
            let abandoned = self.stages.iter().any(|stage| stage.reason == Some(Reason::Abandoned));
            let reason = if abandoned { Reason::Abandoned } else { cancel.reason };
            let late = cancel.reason == Reason::TimedOut;
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
    /// Takes over what its attempt has come to, and what time has decided about it.
    fn settle(&mut self, canceling: Option<Cancel>, timing: Timing, now: Timestamp) {
        if !matches!(self.status, StageStatus::Queued | StageStatus::Running) {
            return;
        }
        let Some(mut job) = self.job else { return };
        if let Some(cancel) = canceling
            && !job.status.is_end()
        {
            job.cancel.get_or_insert(cancel.reason);
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
        self.follow(job, now);
    }

    fn follow(&mut self, job: Job, now: Timestamp) {
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
            JobStatus::Errored if self.tried < self.allowed(job) => {
                self.status = StageStatus::Pending;
                self.reason = job.reason;
                self.retry_at = now.saturating_add(self.backoff.max(SHORTEST_PAUSE)).ok();
            }
            JobStatus::Errored => self.end(StageStatus::Errored, job.reason.unwrap_or(Reason::RunnerError)),
        }
    }

    const fn allowed(&self, job: Job) -> u32 {
        // Waiting for a runner again would not bring one.
        if matches!(job.reason, Some(Reason::NoRunner)) {
            0
        } else if job.touched || self.attempts > UNTOUCHED_ATTEMPTS {
            self.attempts
        } else {
            UNTOUCHED_ATTEMPTS
        }
    }

    fn dispatch(&mut self, now: Timestamp) {
        self.attempt += 1;
        self.tried += 1;
        self.retry_at = None;
        self.job = Some(Job {
            status: JobStatus::Queued,
            reason: None,
            queued_at: now,
            started_at: None,
            lease_expires_at: None,
            touched: false,
            cancel: None,
        });
    }

    fn end(&mut self, status: StageStatus, reason: Reason) {
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

    fn next_look(&self, timing: Timing) -> Option<Timestamp> {
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
        self.lease_expires_at?.saturating_add(timing.grace).ok()
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
