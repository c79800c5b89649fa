//! A runner that takes jobs and does nothing but send heartbeats, whatever it is answered. What it was given has to be ended without it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::deployments::world::World;

const BETWEEN: Duration = Duration::from_millis(1_500);
const TIMEOUT: Duration = Duration::from_secs(8);
const JOB_TOKEN_HEADER: &str = "x-greenroom-job-token";

pub(crate) struct Hollow {
    http: reqwest::Client,
    bases: Vec<String>,
    token: String,
    /// Ids and tokens of all jobs that it was ever given.
    jobs: Vec<(String, String)>,
}

impl Hollow {
    pub(crate) fn new(bases: Vec<String>, world: &World) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
        Ok(Self { http, bases, token: world.hollow_token.clone(), jobs: Vec::new() })
    }

    /// Until it is aborted.
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
            tokio::time::sleep(BETWEEN).await;
        }
    }

    async fn acquire(&self, base: &str) -> Option<(String, String)> {
        let url = format!("{base}/runner/jobs/acquire");
        let asking = self.http.post(url).bearer_auth(&self.token).json(&json!({ "waitSeconds": 1 }));
        let answer: Value = serde_json::from_slice(&asking.send().await.ok()?.bytes().await.ok()?).ok()?;
        let word = |key: &str| answer["data"][key].as_str().map(str::to_owned);
        word("jobId").zip(word("jobToken"))
    }
}
