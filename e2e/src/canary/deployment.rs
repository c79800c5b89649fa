//! A deployment of the canary: its steps and their logs.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::Value;

use crate::canary::fixture::{CanaryFixture, Reader};
use crate::canary::print::{STAGES, stage_key};
use crate::parts::deadline::Deadline;

const END_TIMEOUT_SECONDS: u64 = 1_800;
const LOG_TIMEOUT: Duration = Duration::from_secs(300);

impl CanaryFixture {
    /// Waits until the deployment has ended. It has to succeed.
    pub(crate) async fn succeeded(&self, deployment: &str) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(END_TIMEOUT_SECONDS);
        loop {
            let found = self.get(&format!("/deployments/{deployment}")).await?;
            match found["status"].as_str() {
                Some("succeeded") => return Ok(()),
                Some("failed" | "errored" | "canceled") => bail!("a deployment did not succeed: {found:#}"),
                _ => deadline.wait(|| format!("a deployment has not ended: {found:#}")).await?,
            }
        }
    }

    pub(crate) async fn log_path(&self, deployment: &str, stage: usize) -> anyhow::Result<Option<String>> {
        self.reader().log_path(deployment, stage).await
    }

    /// Returns the stored logs of all steps.
    pub(crate) async fn logs(&self, deployment: &str) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut logs = Vec::new();
        for stage in 0..STAGES {
            let path = self.log_path(deployment, stage).await?.context("a stage without a step")?;
            let request = self.request(Method::GET, &path).timeout(LOG_TIMEOUT);
            logs.push(request.send().await?.error_for_status()?.bytes().await?.to_vec());
        }
        Ok(logs)
    }
}

impl Reader {
    /// Returns the path of the log of a stage's step, as soon as the stage is planned and has an attempt.
    pub(crate) async fn log_path(&self, deployment: &str, stage: usize) -> anyhow::Result<Option<String>> {
        let key = stage_key(stage);
        let attempts = self.find(&format!("/deployments/{deployment}/stages/{key}/attempts")).await?;
        let step = attempts.as_array().and_then(|all| all.last()).map(|last| &last["steps"][0]["id"]);
        let id = step.and_then(Value::as_str);
        Ok(id.map(|id| format!("/deployments/{deployment}/steps/{id}/logs")))
    }
}
