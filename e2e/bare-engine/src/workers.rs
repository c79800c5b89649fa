//! Two workers: one runs workflows, one runs their steps. Each has its own thread, because workflows can't
//! change threads, and its own connection.

use anyhow::Context;
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connect::connect;
use crate::steps::Runner;
use crate::workflow::{STEPS, ThreeSteps, WORKFLOWS};

/// More than there ever are concurrently, so that no history is read a second time.
const CACHED_WORKFLOWS: usize = 5_000;

pub struct Workers {
    running: JoinSet<anyhow::Result<()>>,
    stop: watch::Sender<bool>,
}

impl Workers {
    pub async fn start(address: &str, pollers: usize) -> anyhow::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let behavior = PollerBehavior::SimpleMaximum(pollers.max(2));
        let workflows = WorkerOptions::new(WORKFLOWS)
            .register_workflow::<ThreeSteps>()?
            .max_cached_workflows(CACHED_WORKFLOWS)
            .workflow_task_poller_behavior(behavior)
            .build();
        let steps = WorkerOptions::new(STEPS)
            .register_activities(Runner)
            .activity_task_poller_behavior(behavior)
            .build();
        for options in [workflows, steps] {
            let (client, mut stopped) = (connect(address).await?, stopped.clone());
            let runtime = tokio::runtime::Handle::current();
            running.spawn_blocking(move || {
                runtime.block_on(async move {
                    let quiet = RuntimeOptions::builder().heartbeat_interval(None).build();
                    let engine = Runtime::from_current_tokio(quiet.map_err(anyhow::Error::msg)?)?;
                    let mut worker = Worker::new(&engine, client, options).map_err(anyhow::Error::msg)?;
                    let shut_down = worker.shutdown_handle();
                    let mut run = std::pin::pin!(worker.run());
                    tokio::select! {
                        ended = &mut run => Ok(ended?),
                        _ = stopped.wait_for(|stop| *stop) => {
                            shut_down();
                            Ok(run.await?)
                        }
                    }
                })
            });
        }
        Ok(Self { running, stop })
    }

    /// Runs until one of them ends, which neither should.
    pub async fn failed(&mut self) -> anyhow::Error {
        match self.running.join_next().await {
            Some(Ok(Err(error))) => error.context("a worker failed"),
            _ => anyhow::anyhow!("a worker ended"),
        }
    }

    pub async fn end(mut self) -> anyhow::Result<()> {
        self.stop.send(true).context("the workers are gone")?;
        while let Some(ended) = self.running.join_next().await {
            ended??;
        }
        Ok(())
    }
}
