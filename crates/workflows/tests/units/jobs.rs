//! The jobs that a workflow has dispatched.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use greenroom_domain::id::JobId;
use greenroom_workflows::AdvancedJob;
use greenroom_workflows::internals::{Jobs, OpenActivity};
use temporalio_workflow::WorkflowCancellationToken;
use uuid::Uuid;

type Ending = Pin<Box<dyn Future<Output = ()>>>;

struct JobsFixture {
    jobs: Jobs<Ending>,
    now: SystemTime,
    started: Vec<(JobId, Rc<Cell<bool>>, WorkflowCancellationToken)>,
}

impl JobsFixture {
    fn new() -> Self {
        Self { jobs: Jobs::default(), now: SystemTime::UNIX_EPOCH, started: Vec::new() }
    }

    fn dispatch(&mut self, wanted: &[AdvancedJob]) -> Option<SystemTime> {
        let started = &mut self.started;
        self.jobs.dispatch(wanted, self.now, |job| {
            let (ended, cancel) = (Rc::new(Cell::new(false)), WorkflowCancellationToken::new());
            started.push((job.job_id, ended.clone(), cancel.clone()));
            let end = poll_fn(move |_| if ended.get() { Poll::Ready(()) } else { Poll::Pending });
            OpenActivity { end: Box::pin(end), cancel }
        })
    }

    /// Ends the activity that was started last.
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
    let mut fixture = JobsFixture::new();
    assert_eq!(fixture.dispatch(&[job(1), job(2), job(1)]), None);
    assert_eq!(fixture.dispatch(&[job(1), job(2)]), None);
    assert_eq!(fixture.started.len(), 2);
    // A runner has taken job 1: it is no longer listed, and its activity stays open.
    assert_eq!(fixture.dispatch(&[job(2)]), None);
    assert!(fixture.jobs.has_open());
    assert!(!fixture.started[0].2.is_cancelled());
}

#[test]
fn a_job_whose_activity_ended_is_dispatched_again_with_back_off() {
    let mut fixture = JobsFixture::new();
    for (started, pause) in [(1, 0), (2, 0), (3, 1), (4, 2), (5, 4)] {
        let due = fixture.now + Duration::from_secs(pause);
        if pause > 0 {
            assert_eq!(fixture.dispatch(&[job(1)]), Some(due));
            fixture.now = due;
        }
        assert_eq!(fixture.dispatch(&[job(1)]), None);
        assert_eq!(fixture.started.len(), started);
        fixture.end_last();
        assert!(!fixture.jobs.has_open());
    }
}

#[test]
fn a_job_that_is_no_longer_listed_loses_its_back_off() {
    let mut fixture = JobsFixture::new();
    for _ in 0..3 {
        fixture.dispatch(&[job(1)]);
        fixture.end_last();
        fixture.dispatch(&[]);
    }
    assert_eq!(fixture.started.len(), 3);
}

#[test]
fn only_withdrawn_jobs_are_canceled() {
    let mut fixture = JobsFixture::new();
    fixture.dispatch(&[job(1), job(2)]);
    fixture.jobs.withdraw(&[job(1).job_id, job(3).job_id]);
    assert!(fixture.started[0].2.is_cancelled());
    assert!(!fixture.started[1].2.is_cancelled());
}
