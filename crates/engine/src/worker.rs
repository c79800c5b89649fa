//! Runs deployments' workflows. The SDK's worker has its own thread, because workflows are not `Send`. It is
//! restarted whenever it ends, and shut down gracefully with the daemon.

use std::sync::Arc;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_workflows::DeploymentWorkflow;
use greenroom_workflows::names::deployments_queue;
use temporalio_common::worker::WorkerDeploymentOptions;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio_util::sync::CancellationToken;

use crate::activities::Activities;
use crate::{DeploymentAdvancer, Engine};

const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);
/// How long running tasks may take to end at shutdown. Another worker repeats those that did not end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(4);

/// Concurrency limits of one worker, which determine its memory and its database connections.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSettings {
    /// How many deployments are advanced concurrently. Each uses one database connection.
    pub concurrent_advances: usize,
    /// How many workflows are kept in memory. Others are replayed from their history in the engine.
    pub cached_workflows: usize,
    /// How many calls poll the engine for workflow tasks concurrently.
    pub pollers: usize,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self { concurrent_advances: 8, cached_workflows: 500, pollers: 8 }
    }
}

type WorkerError = Box<dyn std::error::Error + Send + Sync>;

/// Runs until shutdown. While the engine is unreachable, it retries with a growing delay.
#[boxed_futures]
pub async fn run_worker(
    engine: Engine,
    store: Arc<dyn DeploymentAdvancer>,
    settings: WorkerSettings,
    stop: CancellationToken,
) {
    tokio::select! {
        () = stop.cancelled() => return,
        () = engine.identified() => {}
    }
    let mut delay = INITIAL_RETRY_DELAY;
    let mut is_failure_logged = false;
    while !stop.is_cancelled() {
        let started = tokio::time::Instant::now();
        let outcome = run_on_thread(engine.clone(), store.clone(), settings, stop.clone()).await;
        if stop.is_cancelled() {
            return;
        }
        let has_worked = started.elapsed() > MAX_RETRY_DELAY;
        if has_worked {
            (delay, is_failure_logged) = (INITIAL_RETRY_DELAY, false);
        }
        if let Err(error) = outcome
            && !is_failure_logged
        {
            is_failure_logged = true;
            tracing::warn!(error = &*error as &dyn std::error::Error, "could not run workflows; retrying");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(delay) => {}
        }
        delay = (delay * 2).min(MAX_RETRY_DELAY);
    }
}

async fn run_on_thread(
    engine: Engine,
    store: Arc<dyn DeploymentAdvancer>,
    settings: WorkerSettings,
    stop: CancellationToken,
) -> Result<(), WorkerError> {
    let runtime = tokio::runtime::Handle::current();
    // Dropping this future does not end the thread, so the guard cancels its token.
    let stop = stop.child_token();
    let _stop_on_drop = stop.clone().drop_guard();
    let run = move || runtime.block_on(run_once(engine, store, settings, stop));
    tokio::task::spawn_blocking(run).await.unwrap_or_else(|panicked| Err(panicked.into()))
}

async fn run_once(
    engine: Engine,
    store: Arc<dyn DeploymentAdvancer>,
    settings: WorkerSettings,
    stop: CancellationToken,
) -> Result<(), WorkerError> {
    let queue = deployments_queue(engine.installation()?);
    // A separate connection: the SDK registers the worker with it.
    let client = engine.connect().await?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::builder().heartbeat_interval(None).build()?)?;
    let mut worker = Worker::new(&runtime, client, options(queue, store, settings)?)?;
    let shut_down = worker.shutdown_handle();
    tracing::info!("running deployments' workflows");
    metrics::gauge!("greenroom_engine_worker_running").set(1.0);
    let outcome = {
        let mut run = std::pin::pin!(worker.run());
        tokio::select! {
            ended = &mut run => ended,
            () = stop.cancelled() => {
                shut_down();
                tokio::time::timeout(SHUTDOWN_GRACE, run).await.unwrap_or(Ok(()))
            }
        }
    };
    metrics::gauge!("greenroom_engine_worker_running").set(0.0);
    Ok(outcome?)
}

fn options(
    queue: String,
    store: Arc<dyn DeploymentAdvancer>,
    settings: WorkerSettings,
) -> Result<WorkerOptions, WorkerError> {
    let slots = |number: usize| FixedSizeSlotSupplier::new(number.max(2));
    let tuner = TunerHolder::builder()
        // A workflow task lasts as long as its local activity, the advance. The additional slots are for
        // polls: if no poll waits when a task is created, Temporal writes the task to its database, which
        // costs more than everything else that it does for the task.
        .workflow_task_slot_supplier(slots(settings.concurrent_advances * 2 + settings.pollers))
        .local_activity_task_slot_supplier(slots(settings.concurrent_advances))
        .activity_task_slot_supplier(slots(2))
        .nexus_task_slot_supplier(slots(2))
        .build();
    Ok(WorkerOptions::new(queue)
        .register_workflow::<DeploymentWorkflow>()?
        .register_activities(Activities(store))
        .deployment_options(WorkerDeploymentOptions::from_build_id(env!("CARGO_PKG_VERSION").to_owned()))
        .max_cached_workflows(settings.cached_workflows)
        .tuner(tuner)
        .workflow_task_poller_behavior(PollerBehavior::SimpleMaximum(settings.pollers.max(2)))
        // All activities are local, but the SDK requires at least one poller for the activity queue.
        .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(1))
        .graceful_shutdown_period(SHUTDOWN_GRACE / 2)
        .build())
}
