//! Clients for one trial each: bursts of deployments under `concurrency`, and a runner that never runs its
//! jobs.

use std::time::{Duration, Instant};

use serde_json::json;
use uuid::Uuid;

use super::{ApiRequest, Client, DeploymentOutcome, Outcome};
use crate::fault::deployments::definition::{HEARTBEAT_ONLY_PIPELINE, NARROW};
use crate::fault::deployments::fixture::{DeploymentFixture, EnvironmentPath};
use crate::fault::deployments::history::History;

/// How many are requested concurrently: more than may run.
const BURST_SIZE: usize = 4;
/// Longer than a job may stay overdue.
const END_TIMEOUT: Duration = Duration::from_secs(240);
const LEASE_SECONDS: u32 = 500;

impl Client {
    /// Two of them start together and take equally long, so that they end together while others wait.
    pub(crate) async fn burst(mut self) -> History {
        while !self.shared.load.is_closed() {
            let mut begun = Vec::new();
            for _ in 0..BURST_SIZE {
                let commit = self.shared.load.next_commit();
                let path = DeploymentFixture::path(&format!("/pipelines/{}/deployments", NARROW.slug));
                if let DeploymentOutcome::Accepted(deployment, _) =
                    self.request_uncounted_deployment(commit, path, json!({})).await
                {
                    begun.push(deployment);
                }
            }
            for deployment in begun {
                self.wait_until_ended(deployment).await;
            }
            self.pause(500, 3_000).await;
        }
        self.history
    }

    /// Deploys repeatedly to the runner that only sends heartbeats. The server has to end each of these
    /// deployments.
    pub(crate) async fn deploy_to_heartbeat_only_runner(mut self, times: u64) -> History {
        let environment = EnvironmentPath {
            pipeline: HEARTBEAT_ONLY_PIPELINE.slug,
            name: HEARTBEAT_ONLY_PIPELINE.environments[0],
        };
        let mut done = 0;
        while done < times && !self.shared.load.is_closed() {
            let body = json!({ "ttlSeconds": LEASE_SECONDS, "context": "a runner that does nothing" });
            let commit = self.shared.load.next_commit();
            match self.request_uncounted_deployment(commit, environment.path("/sessions"), body).await {
                DeploymentOutcome::Accepted(deployment, record) => {
                    self.wait_until_ended(deployment).await;
                    let session = record["sessionId"].as_str().unwrap_or_default();
                    let path = environment.path(&format!("/sessions/{session}"));
                    let release = ApiRequest { method: reqwest::Method::DELETE, ..ApiRequest::get(path) };
                    self.change(release).await;
                    done += 1;
                }
                _ => self.pause(500, 1_500).await,
            }
        }
        self.history
    }

    async fn wait_until_ended(&mut self, deployment: Uuid) {
        let started = Instant::now();
        let path = DeploymentFixture::path(&format!("/deployments/dep_{deployment}"));
        while started.elapsed() < END_TIMEOUT {
            self.pause(300, 600).await;
            if let Outcome::Done(record) = self.send(&ApiRequest::get(path.clone())).await
                && record["endedAt"].is_string()
            {
                return;
            }
        }
    }
}
