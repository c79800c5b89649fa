//! A developer: deploys, at times twice in a row, cancels some of it, and retries what failed.

use rand::RngExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ApiRequest, Client};
use crate::fault::deployments::organization::Organization;
use crate::fault::gates::definition::{Behavior, PIPELINES};

impl Client {
    /// Runs until no more deployments are to be requested.
    pub(crate) async fn run_deployer(mut self) {
        while let Some(permit) = self.shared.load.take().await {
            let pipeline = PIPELINES[self.rng.random_range(0..PIPELINES.len())].slug;
            let second = if self.rng.random_ratio(1, 2) { self.shared.load.try_take() } else { None };
            // The second one overtakes the first.
            let behavior = if second.is_some() { Behavior::BuildsLong } else { self.behavior() };
            let mut made = vec![self.deploy(permit, pipeline, behavior, false).await];
            if let Some(permit) = second {
                self.pause(50, 500).await;
                let behavior = self.behavior();
                made.push(self.deploy(permit, pipeline, behavior, false).await);
            }
            for deployment in made.into_iter().flatten() {
                self.follow(deployment).await;
            }
        }
    }

    fn behavior(&mut self) -> Behavior {
        match self.rng.random_range(0..10) {
            0 => Behavior::BuildsLong,
            1 => Behavior::FailsInStaging,
            2 | 3 => Behavior::FailsInProduction,
            _ => Behavior::Plain,
        }
    }

    async fn follow(&mut self, deployment: Uuid) {
        if self.rng.random_ratio(1, 8) {
            self.pause(300, 6_000).await;
            let body = if self.rng.random_ratio(1, 2) { json!({ "force": true }) } else { json!({}) };
            let path = Organization::path(&format!("/deployments/dep_{deployment}/cancel"));
            self.change(ApiRequest::post(path, Some(body))).await;
        }
        let Some(record) = self.wait_for_end(deployment).await else { return };
        if let Some(stage) = failed_stage(&record).filter(|_| self.rng.random_ratio(2, 3))
            && self.retry(deployment, &stage, false).await
        {
            self.wait_for_end(deployment).await;
        }
    }
}

/// Returns the first stage that did not succeed.
fn failed_stage(record: &Value) -> Option<String> {
    let stages = record["stages"].as_array()?;
    let bad = |stage: &&Value| matches!(stage["status"].as_str(), Some("failed" | "errored"));
    stages.iter().find(bad)?["key"].as_str().map(str::to_owned)
}
