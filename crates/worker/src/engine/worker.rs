//! Runs deployments' workflows. The SDK's worker lives on a thread of its own, because workflows can't change threads; it
//! is started again whenever it ends, and ends in good order when the daemon does.

use std::sync::Arc;
use std::time::Duration;

use greenroom_workflows::DeploymentWorkflow;
use greenroom_workflows::names::deployments_queue;
use temporalio_common::worker::WorkerDeploymentOptions;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio_util::sync::CancellationToken;

use super::activities::Activities;
use super::{Advances, Engine};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// For what is under way when the daemon is told to stop. Another worker does again what did not end.
const FAREWELL: Duration = Duration::from_secs(4);

/// How much one worker takes on. Memory and connections follow from it.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSettings {
    /// How many questions it puts to the store at once: so many connections are used.
    pub questions: usize,
    /// How many workflows it keeps in memory. One that is not there is read again from the engine.
    pub cached_workflows: usize,
    /// How many calls wait at the engine for work.
    pub pollers: usize,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self { questions: 8, cached_workflows: 500, pollers: 8 }
    }
}

type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// Runs until it is told to stop. While the engine is away it tries again, ever more slowly.
pub async fn run_worker(
    engine: Engine,
    store: Arc<dyn Advances>,
    settings: WorkerSettings,
    stop: CancellationToken,
) {
    tokio::select! {
        () = stop.cancelled() => return,
        () = engine.identified() => {}
    }
    let mut pause = FIRST_PAUSE;
    let mut told = false;
    while !stop.is_cancelled() {
        let began = tokio::time::Instant::now();
        let outcome = on_own_thread(engine.clone(), store.clone(), settings, stop.clone()).await;
        if stop.is_cancelled() {
            return;
        }
        let worked = began.elapsed() > LONGEST_PAUSE;
        if worked {
            (pause, told) = (FIRST_PAUSE, false);
        }
        if let Err(error) = outcome
            && !told
        {
            told = true;
            tracing::warn!(error = &*error as &dyn std::error::Error, "workflows are not run; trying again");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn on_own_thread(
    engine: Engine,
    store: Arc<dyn Advances>,
    settings: WorkerSettings,
    stop: CancellationToken,
) -> Result<(), Trouble> {
    let runtime = tokio::runtime::Handle::current();
    // A thread does not end because nobody waits for it any more.
    let stop = stop.child_token();
    let _told_to_stop = stop.clone().drop_guard();
    let work = move || runtime.block_on(work(engine, store, settings, stop));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|died| Err(died.into()))
}

async fn work(
    engine: Engine,
    store: Arc<dyn Advances>,
    settings: WorkerSettings,
    stop: CancellationToken,
) -> Result<(), Trouble> {
    let queue = deployments_queue(engine.installation()?);
    // A connection of its own: the SDK registers the worker with it.
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
                tokio::time::timeout(FAREWELL, run).await.unwrap_or(Ok(()))
            }
        }
    };
    metrics::gauge!("greenroom_engine_worker_running").set(0.0);
    Ok(outcome?)
}

fn options(
    queue: String,
    store: Arc<dyn Advances>,
    settings: WorkerSettings,
) -> Result<WorkerOptions, Trouble> {
    let slots = |number: usize| FixedSizeSlotSupplier::new(number.max(2));
    let tuner = TunerHolder::builder()
        // A workflow's task lasts as long as its question to the store. Beyond those that ask there is room for the polls:
        // a task that finds nobody waiting for it goes through the engine's database, which costs it more than all the rest.
        .workflow_task_slot_supplier(slots(settings.questions * 2 + settings.pollers))
        .local_activity_task_slot_supplier(slots(settings.questions))
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
        // Its activities are all local: one poll for the queue that the SDK insists on.
        .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(1))
        .graceful_shutdown_period(FAREWELL / 2)
        .build())
}
