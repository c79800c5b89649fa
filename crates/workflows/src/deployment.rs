//! The workflow of a deployment, a loop: it advances the deployment in the store, dispatches the jobs that
//! wait for a runner, and waits for a change.
//!
//! All of its state is in PostgreSQL: it can be lost, terminated or restarted at any time, and continues with
//! the next result of the store. Its code is replayed on old histories, so a change of its Temporal commands
//! needs a patch marker; `crates/workflows/tests/histories` contains histories that must stay compatible.

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

use crate::backoff;
use crate::contract::{Advance, Advanced, AdvancedJob, RunStage, RunStageOnRunner, Subject};
use crate::jobs::{Jobs, OpenActivity, earliest};
use crate::names::pool_queue;
use crate::wake_timer::WakeTimer;

/// A runner without a heartbeat for this long has lost its task. The lease of its job in PostgreSQL expires
/// at the same time.
pub const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum time of a job, including the time that it waits for a runner.
const JOB_TIMEOUT: Duration = Duration::from_secs(25 * 60 * 60);
/// Beyond the soft limit the workflow continues as new as soon as no activity is open, beyond the hard limit
/// in any case.
const SOFT_HISTORY_LIMIT: u32 = 4_000;
const HARD_HISTORY_LIMIT: u32 = 16_000;

#[workflow]
pub struct DeploymentWorkflow {
    subject: Subject,
    /// A wake-up has arrived since the last call of the store.
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
        let (mut jobs, mut wake_timer, mut failures) = (Jobs::default(), WakeTimer::default(), 0_u32);
        loop {
            if should_continue_as_new(ctx, jobs.has_open()) {
                // The new run starts with a call of the store, so it needs no state of this one.
                ctx.continue_as_new(subject, ContinueAsNewOptions::default())?;
            }
            // Reset before the call: a wake-up that arrives during the call has to cause another one.
            ctx.state_mut(|state| state.woken = false);
            let result = advance(ctx, subject).await;
            let due = match result {
                // Checked first: a missing deployment has not ended, so the workflow has to fail visibly.
                Ok(Advanced { missing: true, .. }) => return Err(missing(subject)),
                Ok(Advanced { ended: true, .. }) => return Ok(()),
                Ok(advanced) => {
                    failures = 0;
                    jobs.withdraw(&advanced.withdrawn);
                    let backed_off =
                        jobs.dispatch(&advanced.dispatch, now(ctx), |job| run_stage(ctx, subject, job));
                    let due = advanced.again_in_millis.map(|millis| now(ctx) + Duration::from_millis(millis));
                    earliest(due, backed_off)
                }
                // The database is unavailable, or the store fails. Retry until it succeeds.
                Err(_) => {
                    failures = failures.saturating_add(1);
                    Some(now(ctx) + backoff::delay_after(failures))
                }
            };
            if let Some(due) = due {
                wake_timer.set(due, now(ctx), |wait, cancel| {
                    let timer = ctx.timer(TimerOptions::builder(wait).cancellation_token(cancel).build());
                    Box::pin(async move {
                        timer.await;
                    })
                });
            }
            wait_for_change(ctx, &mut jobs, &mut wake_timer).await;
        }
    }

    #[signal(name = crate::names::WAKE)]
    pub fn wake(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.woken = true;
    }
}

type ActivityFuture<'c> = Pin<Box<dyn CancellableFuture<Output = Result<(), ActivityExecutionError>> + 'c>>;

/// Returns the time of the workflow, which is the same in a replay.
fn now(ctx: &WorkflowContext<DeploymentWorkflow>) -> SystemTime {
    ctx.workflow_time().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A new run does not have the open activities, so their ends would only be visible in PostgreSQL.
/// Therefore the workflow waits until none is open, up to the hard limit.
fn should_continue_as_new(ctx: &WorkflowContext<DeploymentWorkflow>, has_open: bool) -> bool {
    let length = ctx.history_length();
    let long = ctx.continue_as_new_suggested() || length > SOFT_HISTORY_LIMIT;
    (long && !has_open) || length > HARD_HISTORY_LIMIT
}

/// Advances the deployment in the store with a local activity, which runs within the current workflow task
/// and adds one event to the history. The worker retries it a few times; then the workflow backs off.
async fn advance(
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
        // Retries are made by the worker, never with a timer in the history.
        .timer_backoff_threshold(Duration::from_secs(60))
        // Ignore Temporal cancellation; deployments are canceled in PostgreSQL.
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    ctx.execute_local_activity(Advance, subject, options).await
}

/// Fails the workflow, with a message that is visible in Temporal.
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
) -> OpenActivity<ActivityFuture<'c>> {
    let cancel = WorkflowCancellationToken::new();
    let input = RunStage {
        organization_id: subject.organization_id,
        deployment_id: subject.deployment_id,
        job_id: job.job_id,
    };
    let options = ActivityOptions::with_schedule_to_close_timeout(JOB_TIMEOUT)
        .task_queue(pool_queue(subject.installation_id, job.pool_id))
        .heartbeat_timeout(HEARTBEAT_TIMEOUT)
        // The store decides about retries of a job, not Temporal.
        .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
        .cancellation_token(cancel.clone())
        .build();
    OpenActivity { end: Box::pin(ctx.execute_activity(RunStageOnRunner, input, options)), cancel }
}

/// Waits until an activity has ended, the timer fires, or a wake-up arrives. Everything that is ready is
/// handled in one pass. All futures are polled in a fixed order, and none is dropped while it is open:
/// dropping would not cancel it.
async fn wait_for_change<'c>(
    ctx: &WorkflowContext<DeploymentWorkflow>,
    jobs: &mut Jobs<ActivityFuture<'c>>,
    wake_timer: &mut WakeTimer<'_>,
) {
    let detached =
        WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
    let mut woken = pin!(ctx.wait_condition_with_options(|state: &DeploymentWorkflow| state.woken, detached));
    poll_fn(|cx| {
        let ended = jobs.poll_ended(cx, now(ctx)).is_ready();
        let fired = wake_timer.poll_fired(cx).is_ready();
        if ended || fired || woken.as_mut().poll(cx).is_ready() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
