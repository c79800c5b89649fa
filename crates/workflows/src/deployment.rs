//! The workflow of a deployment: asks the store, dispatches what waits for a runner, waits for news, asks again.
//!
//! It knows nothing that PostgreSQL does not know: it can be lost, ended or started anew at any time, and the store's
//! next answer makes it whole. Its code is replayed on old histories, so a change of what it asks the engine for needs a
//! patch marker; `crates/workflows/tests/histories` holds runs that must go on to fit.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, SystemTime};

use temporalio_workflow::common::error::ApplicationFailure;
use temporalio_workflow::{
    ActivityExecutionError, ActivityOptions, CancellableFuture, ContinueAsNewOptions, LocalActivityOptions,
    RetryPolicy, SyncWorkflowContext, TimerOptions, WaitConditionOptions, WorkflowCancellationToken,
    WorkflowContext, WorkflowContextView, WorkflowResult, WorkflowTermination, workflow, workflow_methods,
};

use crate::alarm::Alarm;
use crate::contract::{Advance, Advanced, AdvancedJob, RunStage, RunStageOnRunner, Subject};
use crate::jobs::{Jobs, Open, earlier};
use crate::names::pool_queue;
use crate::pause;

/// A runner that has been silent for this long has lost its task. Its job's lease in PostgreSQL says the same.
pub const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);
/// A job ends before this, whatever happens; also one that no runner ever takes.
const JOB_LIMIT: Duration = Duration::from_secs(25 * 60 * 60);
/// A history beyond this is left behind as soon as nothing is lost by it, and beyond the second one in any case.
const LONG_HISTORY: u32 = 4_000;
const TOO_LONG_HISTORY: u32 = 16_000;

#[workflow]
pub struct DeploymentWorkflow {
    subject: Subject,
    /// Something has changed since the store was last asked.
    woken: bool,
}

#[workflow_methods]
impl DeploymentWorkflow {
    #[init]
    pub fn new(_ctx: &WorkflowContextView, subject: Subject) -> Self {
        Self { subject, woken: false }
    }

    #[run(name = crate::names::DEPLOYMENT)]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        let ctx = &*ctx;
        let subject = ctx.state(|state| state.subject);
        let (mut jobs, mut alarm, mut unanswered) = (Jobs::default(), Alarm::default(), 0_u32);
        loop {
            if wants_a_new_history(ctx, jobs.any_open()) {
                // The new run begins by asking the store, so it needs nothing of what this one knows.
                ctx.continue_as_new(subject, ContinueAsNewOptions::default())?;
            }
            // Before asking: a wake that comes while the answer is on its way has to be followed by another question.
            ctx.state_mut(|state| state.woken = false);
            let answer = ask(ctx, subject).await;
            let due = match answer {
                // Checked first: such a deployment has not ended, and whoever started this has to learn of it.
                Ok(Advanced { missing: true, .. }) => return Err(missing(subject)),
                Ok(Advanced { ended: true, .. }) => return Ok(()),
                Ok(advanced) => {
                    unanswered = 0;
                    jobs.withdraw(&advanced.withdrawn);
                    let paused =
                        jobs.dispatch(&advanced.dispatch, now(ctx), |job| run_stage(ctx, subject, job));
                    let again =
                        advanced.again_in_millis.map(|millis| now(ctx) + Duration::from_millis(millis));
                    earlier(again, paused)
                }
                // The database is away, or the store is ill. It is asked until it answers.
                Err(_) => {
                    unanswered = unanswered.saturating_add(1);
                    Some(now(ctx) + pause::after(unanswered))
                }
            };
            if let Some(due) = due {
                alarm.set(due, now(ctx), |wait, cancel| {
                    let timer = ctx.timer(TimerOptions::builder(wait).cancellation_token(cancel).build());
                    Box::pin(async move {
                        timer.await;
                    })
                });
            }
            news(ctx, &mut jobs, &mut alarm).await;
        }
    }

    #[signal(name = crate::names::WAKE)]
    pub fn wake(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.woken = true;
    }
}

type RunnersEnd<'c> = Pin<Box<dyn CancellableFuture<Output = Result<(), ActivityExecutionError>> + 'c>>;

/// The engine's time, which is the same in a replay.
fn now(ctx: &WorkflowContext<DeploymentWorkflow>) -> SystemTime {
    ctx.workflow_time().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A new run has none of the open activities: their ends would only be heard of through PostgreSQL. So it waits until
/// none is open, if it can.
fn wants_a_new_history(ctx: &WorkflowContext<DeploymentWorkflow>, any_open: bool) -> bool {
    let length = ctx.history_length();
    let long = ctx.continue_as_new_suggested() || length > LONG_HISTORY;
    (long && !any_open) || length > TOO_LONG_HISTORY
}

/// One question to the store, as a local activity: it takes part in the workflow task that is under way and costs one
/// event. A few failures are repeated on the spot; then the workflow pauses by itself.
async fn ask(
    ctx: &WorkflowContext<DeploymentWorkflow>,
    subject: Subject,
) -> Result<Advanced, ActivityExecutionError> {
    let attempts = RetryPolicy::builder()
        .initial_interval(Duration::from_millis(200))
        .maximum_interval(Duration::from_secs(1))
        .maximum_attempts(3)
        .build();
    let options = LocalActivityOptions::builder()
        .start_to_close_timeout(Duration::from_secs(10))
        .schedule_to_close_timeout(Duration::from_secs(30))
        .retry_policy(attempts)
        // Repeated by the worker itself, never by a timer in the history.
        .timer_backoff_threshold(Duration::from_secs(60))
        // Detached: a cancellation of the workflow is nobody's word. Deployments are canceled in PostgreSQL.
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    ctx.execute_local_activity(Advance, subject, options).await
}

/// Ends the workflow as failed, with a message for whoever looks at it in the engine.
fn missing(subject: Subject) -> WorkflowTermination {
    let message = format!("this installation's database has no deployment {}", subject.deployment_id);
    let failure = ApplicationFailure::builder(message)
        .type_name("DeploymentMissing".to_owned())
        .non_retryable(true)
        .build();
    WorkflowTermination::failed_application(failure)
}

fn run_stage<'c>(
    ctx: &'c WorkflowContext<DeploymentWorkflow>,
    subject: Subject,
    job: &AdvancedJob,
) -> Open<RunnersEnd<'c>> {
    let cancel = WorkflowCancellationToken::new();
    let input = RunStage {
        organization_id: subject.organization_id,
        deployment_id: subject.deployment_id,
        job_id: job.job_id,
    };
    let options = ActivityOptions::with_schedule_to_close_timeout(JOB_LIMIT)
        .task_queue(pool_queue(subject.installation_id, job.pool_id))
        .heartbeat_timeout(HEARTBEAT_TIMEOUT)
        // The store decides whether a job is run again, not the engine.
        .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
        .cancellation_token(cancel.clone())
        .build();
    Open { end: Box::pin(ctx.execute_activity(RunStageOnRunner, input, options)), cancel }
}

/// Waits until an activity has ended, the alarm rings, or somebody has called. What comes together is taken together.
/// All are looked at in a fixed order, and none is dropped while it is open: dropping would not cancel it.
async fn news<'c>(
    ctx: &WorkflowContext<DeploymentWorkflow>,
    jobs: &mut Jobs<RunnersEnd<'c>>,
    alarm: &mut Alarm<'_>,
) {
    let detached =
        WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
    let mut woken = pin!(ctx.wait_condition_with_options(|state: &DeploymentWorkflow| state.woken, detached));
    poll_fn(|cx| {
        let ended = jobs.poll_ended(cx, now(ctx)).is_ready();
        let rung = alarm.poll_rung(cx).is_ready();
        if ended || rung || woken.as_mut().poll(cx).is_ready() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
