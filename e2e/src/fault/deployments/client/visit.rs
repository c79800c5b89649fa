//! A visit to an environment: the client claims it or takes it by force, deploys a few times, and gives it up
//! in one of several ways.

use rand::RngExt;
use reqwest::Method;
use serde_json::json;

use super::{ApiRequest, Client, DeploymentOutcome, Outcome};
use crate::fault::deployments::fixture::{DeploymentFixture, EnvironmentPath};

/// A session that this client holds, or held.
pub(super) struct HeldSession {
    environment: EnvironmentPath,
    session: String,
}

impl HeldSession {
    fn path(&self, rest: &str) -> String {
        self.environment.path(&format!("/sessions/{}{rest}", self.session))
    }
}

impl Client {
    pub(super) async fn visit(&mut self) {
        let environments = DeploymentFixture::environments();
        // Prefers the first few environments, so that clients contend for them.
        let among = if self.rng.random_ratio(1, 2) { 2 } else { environments.len() };
        let environment = environments[self.rng.random_range(0..among)];
        let claimed = match self.claim(environment, "/sessions").await {
            Err(code) if code == "environment_locked" && self.rng.random_ratio(1, 3) => {
                // While the holder may be in the middle of anything.
                self.pause(0, 1_500).await;
                self.claim(environment, "/force-claim").await
            }
            claimed => claimed,
        };
        match claimed {
            Ok(Some(held)) => self.use_session(&held).await,
            _ => self.pause(300, 1_500).await,
        }
    }

    /// Claims, sometimes with a first commit. Returns the error code of a rejection, or nothing if the
    /// outcome is unknown.
    async fn claim(
        &mut self,
        environment: EnvironmentPath,
        endpoint: &str,
    ) -> Result<Option<HeldSession>, String> {
        // Some leases are shorter than a deployment, and end in its middle unless they are renewed in time.
        let ttl = if self.rng.random_ratio(1, 4) {
            self.rng.random_range(3..6)
        } else {
            self.rng.random_range(12..30)
        };
        let body = json!({ "ttlSeconds": ttl, "context": "a campaign" });
        let path = environment.path(endpoint);
        let commit = if self.rng.random_ratio(1, 2) { self.shared.load.try_take() } else { None };
        let record = match commit {
            Some(commit) => match self.request_deployment(commit, path, body).await {
                DeploymentOutcome::Accepted(_, record) => record,
                DeploymentOutcome::Refused(code) => return Err(code),
                DeploymentOutcome::Unknown => return Ok(None),
            },
            None => match self.change(ApiRequest::post(path, Some(body))).await {
                Outcome::Done(record) => record,
                Outcome::Refused(code) => return Err(code),
                Outcome::Unknown => return Ok(None),
            },
        };
        let session = record["sessionId"].as_str().map(str::to_owned);
        Ok(session.map(|session| HeldSession { environment, session }))
    }

    async fn use_session(&mut self, held: &HeldSession) {
        for _ in 0..self.rng.random_range(1..=3) {
            let Some(commit) = self.shared.load.try_take() else {
                self.pause(300, 1_500).await;
                continue;
            };
            let outcome = self.request_deployment(commit, held.path("/deploy"), json!({})).await;
            let DeploymentOutcome::Accepted(deployment, _) = outcome else { break };
            self.publish(deployment);
            if self.rng.random_ratio(1, 2) {
                self.act_on_foreign_deployment().await;
            }
            if self.rng.random_ratio(1, 10) {
                // The client dies, and what it started continues until the lease expires.
                return;
            }
            // Sometimes the next deployment follows immediately and supersedes this one.
            if !self.rng.random_ratio(1, 5) && !self.follow(deployment, Some(held)).await {
                return;
            }
        }
        match self.rng.random_range(0..8) {
            // The session is abandoned, and its lease expires.
            0 => {}
            1 => {
                self.pause(200, 2_000).await;
                self.release(held).await;
            }
            _ => self.release(held).await,
        }
    }

    async fn release(&mut self, held: &HeldSession) {
        let api_request = ApiRequest { method: Method::DELETE, path: held.path(""), body: None, key: None };
        self.change(api_request).await;
    }

    /// Returns whether it is still held, as far as is known.
    pub(super) async fn renew(&mut self, held: &HeldSession) -> bool {
        !matches!(self.change(ApiRequest::post(held.path("/renew"), None)).await, Outcome::Refused(_))
    }
}
