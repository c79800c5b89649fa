//! A runner that takes jobs and only sends heartbeats, whatever the response is. Its jobs have to be ended
//! without its help.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::deployments::fixture::DeploymentFixture;

const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(1_500);
const TIMEOUT: Duration = Duration::from_secs(8);
const JOB_TOKEN_HEADER: &str = "x-greenroom-job-token";

pub(crate) struct HeartbeatOnlyRunner {
    http: reqwest::Client,
    bases: Vec<String>,
    token: String,
    /// Ids and tokens of all jobs that it was ever given.
    jobs: Vec<(String, String)>,
}

impl HeartbeatOnlyRunner {
    pub(crate) fn new(bases: Vec<String>, fixture: &DeploymentFixture) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
        Ok(Self { http, bases, token: fixture.heartbeat_only_token.clone(), jobs: Vec::new() })
    }

    /// Runs until it is aborted.
    pub(crate) async fn run(mut self) {
        for turn in 0_usize.. {
            let base = self.bases[turn % self.bases.len()].clone();
            if let Some(job) = self.acquire(&base).await {
                self.jobs.push(job);
            }
            for (id, token) in &self.jobs {
                let url = format!("{base}/runner/jobs/{id}/heartbeat");
                let heartbeat = self.http.post(url).bearer_auth(&self.token).header(JOB_TOKEN_HEADER, token);
                let _ = heartbeat.send().await;
            }
            tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        }
    }

    async fn acquire(&self, base: &str) -> Option<(String, String)> {
        let url = format!("{base}/runner/jobs/acquire");
        let request = self.http.post(url).bearer_auth(&self.token).json(&json!({ "waitSeconds": 1 }));
        let response: Value = serde_json::from_slice(&request.send().await.ok()?.bytes().await.ok()?).ok()?;
        let text_field = |key: &str| response["data"][key].as_str().map(str::to_owned);
        text_field("jobId").zip(text_field("jobToken"))
    }
}
