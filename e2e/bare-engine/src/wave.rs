//! A number of workflows, started together by a few clients, until the last one is done.

use std::time::{Duration, Instant};

use anyhow::bail;
use futures_util::{StreamExt, TryStreamExt, stream};
use temporalio_client::{Client, WorkflowCountOptions, WorkflowStartOptions};

use crate::workflow::{self, ThreeSteps, WORKFLOWS};

const POLL_INTERVAL: Duration = Duration::from_millis(5);
const TIMEOUT: Duration = Duration::from_secs(600);

pub struct Wave<'a> {
    pub client: &'a Client,
    pub name: &'a str,
    pub count: usize,
    pub clients: usize,
}

impl Wave<'_> {
    /// Returns how many seconds it took.
    pub async fn run(&self) -> anyhow::Result<f64> {
        let began = Instant::now();
        let starts = stream::iter(0..self.count).map(|number| async move {
            let id = format!("{}/{number}", self.name);
            let options = WorkflowStartOptions::new(WORKFLOWS, id.clone()).build();
            self.client.start_workflow(ThreeSteps::run, id, options).await.map(drop)
        });
        starts.buffer_unordered(self.clients.max(1)).try_collect::<()>().await?;
        while workflow::done(self.name) < self.count {
            if began.elapsed() > TIMEOUT {
                bail!("{} of {} were done after {TIMEOUT:?}", workflow::done(self.name), self.count);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// Checks that Temporal also reports each of them as completed; afterwards, because it costs Temporal
    /// some effort.
    pub async fn check(&self) -> anyhow::Result<()> {
        let query = format!("ExecutionStatus = 'Completed' and WorkflowId starts_with '{}/'", self.name);
        let began = Instant::now();
        loop {
            let counted = self.client.count_workflows(&query, WorkflowCountOptions::default()).await?.count();
            if counted == self.count {
                return Ok(());
            }
            if began.elapsed() > TIMEOUT / 10 {
                bail!("Temporal reports {counted} completed workflows instead of {}", self.count);
            }
            tokio::time::sleep(POLL_INTERVAL * 40).await;
        }
    }
}
