//! The jobs that a workflow has dispatched: which activities are open or have ended, and when a job may be
//! dispatched again.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use greenroom_domain::id::JobId;
use temporalio_workflow::WorkflowCancellationToken;

use crate::backoff;
use crate::contract::AdvancedJob;

/// An activity that has not ended.
pub struct OpenActivity<F> {
    pub end: F,
    pub cancel: WorkflowCancellationToken,
}

struct Job<F> {
    id: JobId,
    open: Option<OpenActivity<F>>,
    /// How many activities of this job have ended while the job kept waiting.
    ended_activities: u32,
    not_before: SystemTime,
}

/// The jobs in the order of their first dispatch, so that a replay polls them in the same order.
pub struct Jobs<F>(Vec<Job<F>>);

impl<F> Default for Jobs<F> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<F: Future + Unpin> Jobs<F> {
    pub fn has_open(&self) -> bool {
        self.0.iter().any(|job| job.open.is_some())
    }

    /// Polls the open activities. Their results are ignored, because they can't be trusted.
    pub fn poll_ended(&mut self, cx: &mut Context<'_>, now: SystemTime) -> Poll<()> {
        let mut ended = Poll::Pending;
        for job in &mut self.0 {
            let Some(open) = &mut job.open else { continue };
            if Pin::new(&mut open.end).poll(cx).is_ready() {
                job.open = None;
                // No delay after the first one: its runner may just have disconnected.
                job.not_before = now + backoff::delay_after(job.ended_activities);
                job.ended_activities += 1;
                ended = Poll::Ready(());
            }
        }
        ended
    }

    /// Cancels the open activities of jobs that no runner will take, so that their tasks don't stay in the
    /// queue.
    pub fn withdraw(&mut self, withdrawn: &[JobId]) {
        for job in self.0.iter_mut().filter(|job| withdrawn.contains(&job.id)) {
            if let Some(open) = &job.open {
                open.cancel.cancel();
            }
        }
    }

    /// Starts an activity for each of `wanted` that has none and does not back off. Returns when the next
    /// back-off is over.
    pub fn dispatch(
        &mut self,
        wanted: &[AdvancedJob],
        now: SystemTime,
        mut start: impl FnMut(&AdvancedJob) -> OpenActivity<F>,
    ) -> Option<SystemTime> {
        self.0.retain(|job| job.open.is_some() || wanted.iter().any(|wanted| wanted.job_id == job.id));
        let mut next = None;
        for wanted in wanted {
            match self.0.iter_mut().find(|job| job.id == wanted.job_id) {
                Some(job) if job.open.is_some() => {}
                Some(job) if now < job.not_before => next = earliest(next, Some(job.not_before)),
                Some(job) => job.open = Some(start(wanted)),
                None => self.0.push(Job {
                    id: wanted.job_id,
                    open: Some(start(wanted)),
                    ended_activities: 0,
                    not_before: SystemTime::UNIX_EPOCH,
                }),
            }
        }
        next
    }
}

/// Returns the earlier of two times, if there is one.
pub fn earliest(one: Option<SystemTime>, other: Option<SystemTime>) -> Option<SystemTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
