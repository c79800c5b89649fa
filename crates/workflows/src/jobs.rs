//! The jobs that a workflow has dispatched: whose activity is open, whose has ended, and when one may be dispatched again.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use greenroom_domain::id::JobId;
use temporalio_workflow::WorkflowCancellationToken;

use crate::contract::AdvancedJob;
use crate::pause;

/// An activity that has not ended.
pub struct Open<F> {
    pub end: F,
    pub cancel: WorkflowCancellationToken,
}

struct Job<F> {
    id: JobId,
    open: Option<Open<F>>,
    /// How often an activity of this job has ended while the job went on waiting.
    endings: u32,
    not_before: SystemTime,
}

/// In the order in which they were first dispatched, so that a replay polls them in the same order.
pub struct Jobs<F>(Vec<Job<F>>);

impl<F> Default for Jobs<F> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<F: Future + Unpin> Jobs<F> {
    pub fn any_open(&self) -> bool {
        self.0.iter().any(|job| job.open.is_some())
    }

    /// Notes which activities have ended, in whatever way: their results are not to be trusted, so they are not looked at.
    pub fn poll_ended(&mut self, cx: &mut Context<'_>, now: SystemTime) -> Poll<()> {
        let mut any = Poll::Pending;
        for job in &mut self.0 {
            let Some(open) = &mut job.open else { continue };
            if Pin::new(&mut open.end).poll(cx).is_ready() {
                job.open = None;
                // The first may have been a runner that hung up: that costs no pause.
                job.not_before = now + pause::after(job.endings);
                job.endings += 1;
                any = Poll::Ready(());
            }
        }
        any
    }

    /// Cancels the open activities of jobs that nobody will ever run, so that their tasks don't stay in the queue.
    pub fn withdraw(&mut self, withdrawn: &[JobId]) {
        for job in self.0.iter_mut().filter(|job| withdrawn.contains(&job.id)) {
            if let Some(open) = &job.open {
                open.cancel.cancel();
            }
        }
    }

    /// Starts an activity for each of `wanted` that has none and need not pause. Says when the next pause is over.
    pub fn dispatch(
        &mut self,
        wanted: &[AdvancedJob],
        now: SystemTime,
        mut start: impl FnMut(&AdvancedJob) -> Open<F>,
    ) -> Option<SystemTime> {
        self.0.retain(|job| job.open.is_some() || wanted.iter().any(|wanted| wanted.job_id == job.id));
        let mut next = None;
        for wanted in wanted {
            match self.0.iter_mut().find(|job| job.id == wanted.job_id) {
                Some(job) if job.open.is_some() => {}
                Some(job) if now < job.not_before => next = earlier(next, Some(job.not_before)),
                Some(job) => job.open = Some(start(wanted)),
                None => self.0.push(Job {
                    id: wanted.job_id,
                    open: Some(start(wanted)),
                    endings: 0,
                    not_before: SystemTime::UNIX_EPOCH,
                }),
            }
        }
        next
    }
}

/// Of two times, or none.
pub fn earlier(one: Option<SystemTime>, other: Option<SystemTime>) -> Option<SystemTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::rc::Rc;
    use std::task::Waker;
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    type Ending = Pin<Box<dyn Future<Output = ()>>>;

    struct Site {
        jobs: Jobs<Ending>,
        now: SystemTime,
        started: Vec<(JobId, Rc<Cell<bool>>, WorkflowCancellationToken)>,
    }

    impl Site {
        fn new() -> Self {
            Self { jobs: Jobs::default(), now: SystemTime::UNIX_EPOCH, started: Vec::new() }
        }

        fn dispatch(&mut self, wanted: &[AdvancedJob]) -> Option<SystemTime> {
            let started = &mut self.started;
            self.jobs.dispatch(wanted, self.now, |job| {
                let (ended, cancel) = (Rc::new(Cell::new(false)), WorkflowCancellationToken::new());
                started.push((job.job_id, ended.clone(), cancel.clone()));
                let end = poll_fn(move |_| if ended.get() { Poll::Ready(()) } else { Poll::Pending });
                Open { end: Box::pin(end), cancel }
            })
        }

        /// The activity that was started last ends.
        fn end_last(&mut self) {
            self.started.last().unwrap().1.set(true);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(self.jobs.poll_ended(&mut cx, self.now).is_ready());
        }
    }

    fn job(number: u128) -> AdvancedJob {
        AdvancedJob { job_id: Uuid::from_u128(number).into(), pool_id: Uuid::from_u128(9).into() }
    }

    #[test]
    fn a_job_has_one_activity_however_often_it_is_listed() {
        let mut site = Site::new();
        assert_eq!(site.dispatch(&[job(1), job(2), job(1)]), None);
        assert_eq!(site.dispatch(&[job(1), job(2)]), None);
        assert_eq!(site.started.len(), 2);
        // Its runner has it: it is not listed any more, and its activity stays open.
        assert_eq!(site.dispatch(&[job(2)]), None);
        assert!(site.jobs.any_open());
        assert!(!site.started[0].2.is_cancelled());
    }

    #[test]
    fn one_that_ended_and_still_waits_is_dispatched_again_with_growing_pauses() {
        let mut site = Site::new();
        for (started, pause) in [(1, 0), (2, 0), (3, 1), (4, 2), (5, 4)] {
            let due = site.now + Duration::from_secs(pause);
            if pause > 0 {
                assert_eq!(site.dispatch(&[job(1)]), Some(due));
                site.now = due;
            }
            assert_eq!(site.dispatch(&[job(1)]), None);
            assert_eq!(site.started.len(), started);
            site.end_last();
            assert!(!site.jobs.any_open());
        }
    }

    #[test]
    fn one_that_is_not_listed_any_more_begins_anew() {
        let mut site = Site::new();
        for _ in 0..3 {
            site.dispatch(&[job(1)]);
            site.end_last();
            site.dispatch(&[]);
        }
        assert_eq!(site.started.len(), 3);
    }

    #[test]
    fn one_that_is_withdrawn_is_canceled_and_the_others_are_not() {
        let mut site = Site::new();
        site.dispatch(&[job(1), job(2)]);
        site.jobs.withdraw(&[job(1).job_id, job(3).job_id]);
        assert!(site.started[0].2.is_cancelled());
        assert!(!site.started[1].2.is_cancelled());
    }
}
