//! An organization with secrets, and a job whose only step has all of them. Its runner is this program: it repeats the
//! request that starts the step, and each response contains the values.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::parts::api::Api;
use crate::parts::deadline::Deadline;
use crate::parts::runner::Runner;
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;

const JOB_TOKEN_HEADER: &str = "x-greenroom-job-token";
const PIPELINE: &str = "shop";
const ACQUIRE_TIMEOUT_SECONDS: u64 = 120;

pub(super) struct TestOrganization {
    slug: String,
    /// Values in base64, by variable.
    values: BTreeMap<String, String>,
    runner_token: String,
    job: String,
    job_token: String,
    step: String,
}

impl TestOrganization {
    pub(super) async fn make(parts: &Parts, number: usize, secrets: usize) -> anyhow::Result<Self> {
        let people = People::of(parts, &format!("rotation-{number}")).await?;
        let (slug, token) = (people.slug.clone(), people.owner().to_owned());
        let path = |below: &str| format!("/organizations/{slug}{below}");
        let post = async |below: &str, body: Value| {
            parts.api.call_ok(Method::POST, &path(below), &token, Some(&body)).await
        };
        let (mut values, mut given) = (BTreeMap::new(), Map::new());
        for secret in 0..secrets {
            let (name, value) = (format!("secret-{secret}"), format!("{:032x}", rand::random::<u128>()));
            post("/secrets", json!({ "name": name, "value": value })).await?;
            let variable = format!("SECRET_{secret}");
            values.insert(variable.clone(), STANDARD.encode(&value));
            given.insert(variable, json!(name));
        }
        let steps = json!([{ "image": "none", "run": "true", "secrets": given }]);
        let definition = json!({ "stages": { "only": { "steps": steps } } }).to_string();
        post("/pipelines", json!({ "name": "Shop", "slug": PIPELINE, "definition": definition })).await?;
        let runner = post("/runners", Runner::creation_body("reader", None)).await?;
        let runner_token = runner["token"].as_str().context("a runner without a token")?.to_owned();
        post(&format!("/pipelines/{PIPELINE}/deployments"), json!({ "commitId": "0000001" })).await?;
        let job = acquire(&parts.api, &runner_token).await?;
        let field = |value: &Value, key: &str| {
            value[key].as_str().map(str::to_owned).with_context(|| format!("a job without {key}"))
        };
        let step = field(&job["steps"][0], "stepRunId")?;
        let (job, job_token) = (field(&job, "jobId")?, field(&job, "jobToken")?);
        Ok(Self { slug, values, runner_token, job, job_token, step })
    }

    pub(super) fn secrets(&self) -> usize {
        self.values.len()
    }

    pub(super) fn slug(&self) -> &str {
        &self.slug
    }

    /// Starts the step, again, and compares what it gets.
    pub(super) async fn read(&self, api: &Api) -> anyhow::Result<()> {
        let path = format!("/runner/jobs/{}/steps/{}/start", self.job, self.step);
        let request = api.request(Method::POST, &path, &self.runner_token);
        let response = request.header(JOB_TOKEN_HEADER, &self.job_token).json(&json!({})).send().await?;
        let status = response.status();
        let body: Value = response.json().await?;
        if !status.is_success() {
            bail!("{} got {status} {}", self.slug, body["code"]);
        }
        let secrets = body["data"]["secrets"].as_array().context("a response without secrets")?;
        ensure!(secrets.len() == self.values.len(), "{} got {} secrets", self.slug, secrets.len());
        for secret in secrets {
            let variable = secret["variable"].as_str().unwrap_or_default();
            let is_right = secret["value"].as_str() == self.values.get(variable).map(String::as_str);
            ensure!(is_right, "{} got a wrong value of {variable}", self.slug);
        }
        Ok(())
    }
}

async fn acquire(api: &Api, token: &str) -> anyhow::Result<Value> {
    let deadline = Deadline::in_seconds(ACQUIRE_TIMEOUT_SECONDS);
    loop {
        let body = json!({ "waitSeconds": 5 });
        let response = api.call(Method::POST, "/runner/jobs/acquire", token, Some(&body)).await?;
        if response.data()["jobId"].is_string() {
            return Ok(response.data().clone());
        }
        deadline.wait(|| format!("no job was assigned: {} {:#}", response.status, response.body)).await?;
    }
}
