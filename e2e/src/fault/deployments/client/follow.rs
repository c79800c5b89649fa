//! Follows a deployment to its end: waits, sometimes cancels, and sometimes retries a failed stage.

use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ApiRequest, Client, Outcome};
use crate::fault::deployments::client::visit::HeldSession;
use crate::fault::deployments::fixture::DeploymentFixture;

/// After this time the client stops waiting and continues with something else.
const WAIT_TIMEOUT: Duration = Duration::from_secs(50);
const RENEW_INTERVAL: Duration = Duration::from_secs(4);

/// The result of waiting for a deployment.
enum WaitResult {
    Ended(Value),
    StillRunning,
    /// The session of the deployment has ended.
    SessionEnded,
}

impl Client {
    /// Returns whether the session, if there is one, is still held at the end.
    pub(super) async fn follow(&mut self, deployment: Uuid, held: Option<&HeldSession>) -> bool {
        if self.rng.random_ratio(1, 8) {
            self.pause(300, 2_500).await;
            let body = self.rng.random_ratio(1, 2).then(|| json!({ "force": true }));
            let path = DeploymentFixture::path(&format!("/deployments/dep_{deployment}/cancel"));
            self.change(ApiRequest::post(path, Some(body.unwrap_or_else(|| json!({}))))).await;
        }
        let mut result = self.wait_for(deployment, held).await;
        if let WaitResult::Ended(record) = &result
            && self.rng.random_ratio(2, 3)
            && let Some(stage) = failed_stage(record)
        {
            let path =
                DeploymentFixture::path(&format!("/deployments/dep_{deployment}/stages/{stage}/retry"));
            if let Outcome::Done(_) = self.change(ApiRequest::post(path, Some(json!({})))).await {
                result = self.wait_for(deployment, held).await;
            }
        }
        !matches!(result, WaitResult::SessionEnded)
    }

    async fn wait_for(&mut self, deployment: Uuid, held: Option<&HeldSession>) -> WaitResult {
        let (started, mut renewed) = (Instant::now(), Instant::now());
        let path = DeploymentFixture::path(&format!("/deployments/dep_{deployment}"));
        while started.elapsed() < WAIT_TIMEOUT {
            self.pause(300, 600).await;
            if let Some(held) = held.filter(|_| renewed.elapsed() > RENEW_INTERVAL) {
                renewed = Instant::now();
                if !self.renew(held).await {
                    return WaitResult::SessionEnded;
                }
            }
            if let Outcome::Done(record) = self.send(&ApiRequest::get(path.clone())).await
                && record["endedAt"].is_string()
            {
                return WaitResult::Ended(record);
            }
        }
        WaitResult::StillRunning
    }
}

/// Returns the first stage that did not succeed.
fn failed_stage(record: &Value) -> Option<String> {
    let stages = record["stages"].as_array()?;
    let bad = |stage: &&Value| matches!(stage["status"].as_str(), Some("failed" | "errored"));
    stages.iter().find(bad)?["key"].as_str().map(str::to_owned)
}
