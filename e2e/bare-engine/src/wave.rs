//! A number of workflows, started at once by a few clients, until the last one is done.

use std::time::{Duration, Instant};

use anyhow::bail;
use futures_util::{StreamExt, TryStreamExt, stream};
use temporalio_client::{Client, WorkflowCountOptions, WorkflowStartOptions};

use crate::workflow::{self, ThreeSteps, WORKFLOWS};

const LOOK_AGAIN: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(600);

pub struct Wave<'a> {
    pub client: &'a Client,
    pub name: &'a str,
    pub count: usize,
    pub clients: usize,
}

impl Wave<'_> {
    /// How many seconds it took.
    pub async fn run(&self) -> anyhow::Result<f64> {
        let began = Instant::now();
        let starts = stream::iter(0..self.count).map(|number| async move {
            let id = format!("{}/{number}", self.name);
            let options = WorkflowStartOptions::new(WORKFLOWS, id.clone()).build();
            self.client.start_workflow(ThreeSteps::run, id, options).await.map(drop)
        });
        starts.buffer_unordered(self.clients.max(1)).try_collect::<()>().await?;
        while workflow::done(self.name) < self.count {
            if began.elapsed() > PATIENCE {
                bail!("{} of {} were done after {PATIENCE:?}", workflow::done(self.name), self.count);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// That the engine, too, says of each of them that it has completed; afterwards, as it takes the engine some effort.
    pub async fn check(&self) -> anyhow::Result<()> {
        let query = format!("ExecutionStatus = 'Completed' and WorkflowId starts_with '{}/'", self.name);
        let began = Instant::now();
        loop {
            let counted = self.client.count_workflows(&query, WorkflowCountOptions::default()).await?.count();
            if counted == self.count {
                return Ok(());
            }
            if began.elapsed() > PATIENCE / 10 {
                bail!(
                    "the engine knows of {counted} workflows that have completed, and not of {}",
                    self.count
                );
            }
            tokio::time::sleep(LOOK_AGAIN * 40).await;
        }
    }
}
