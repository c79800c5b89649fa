//! The runner's API, as a program of its own would use it.

use std::time::Duration;

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};

use crate::parts::api::Api;

const JOB_TOKEN_HEADER: &str = "x-greenroom-job-token";
const CONCURRENCY_HEADER: &str = "x-greenroom-concurrency";
const TIMEOUT: Duration = Duration::from_secs(30);
const ACQUIRE_SECONDS: u64 = 5;

pub(super) struct RunnerApi {
    api: Api,
    token: String,
    concurrency: usize,
}

/// A job, and what its runner was given.
pub(super) struct Job<'a> {
    runner: &'a RunnerApi,
    id: String,
    token: String,
    pub(super) deployment: String,
    pub(super) stage: String,
    pub(super) attempt: u64,
    /// The ids of its steps.
    pub(super) steps: Vec<String>,
    pub(super) given: Value,
}

/// The branches that a job has to prove.
pub(super) enum RequiredBranches {
    /// It may report no branch.
    None,
    Any,
    OneOf(Vec<String>),
}

impl RequiredBranches {
    pub(super) fn may_be(&self, branch: &str) -> bool {
        match self {
            Self::None => false,
            Self::Any => true,
            Self::OneOf(branches) => branches.iter().any(|one| one == branch),
        }
    }

    /// Returns a branch that may be reported: the preferred one, if it is among them.
    pub(super) fn any(&self, preferred: &str) -> Option<String> {
        match self {
            Self::OneOf(branches) if !self.may_be(preferred) => branches.first().cloned(),
            Self::None => None,
            Self::OneOf(_) | Self::Any => Some(preferred.to_owned()),
        }
    }
}

impl RunnerApi {
    pub(super) const fn new(api: Api, token: String, concurrency: usize) -> Self {
        Self { api, token, concurrency }
    }

    /// Returns a job, or nothing if there was none for a few seconds.
    pub(super) async fn acquire(&self) -> anyhow::Result<Option<Job<'_>>> {
        let request = self.api.request(Method::POST, "/runner/jobs/acquire", &self.token);
        let request = request.header(CONCURRENCY_HEADER, self.concurrency).timeout(TIMEOUT);
        let response = request.json(&json!({ "waitSeconds": ACQUIRE_SECONDS })).send().await?;
        if response.status().as_u16() != 200 {
            return Ok(None);
        }
        let mut body: Value = serde_json::from_slice(&response.bytes().await?)?;
        let given = body["data"].take();
        let text = |key: &str| {
            given[key].as_str().map(str::to_owned).with_context(|| format!("a job has no {key}: {given}"))
        };
        let steps = given["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Some(Job {
            runner: self,
            id: text("jobId")?,
            token: text("jobToken")?,
            deployment: text("deploymentId")?,
            stage: text("stage")?,
            attempt: given["attempt"].as_u64().unwrap_or_default(),
            steps: steps.iter().filter_map(|step| step["stepRunId"].as_str().map(str::to_owned)).collect(),
            given,
        }))
    }
}

impl Job<'_> {
    fn request(&self, method: Method, below: &str) -> reqwest::RequestBuilder {
        let path = format!("/runner/jobs/{}{below}", self.id);
        let request = self.runner.api.request(method, &path, &self.runner.token);
        request.header(JOB_TOKEN_HEADER, &self.token).timeout(TIMEOUT)
    }

    /// Sends a report. Returns the status of the response.
    pub(super) async fn report(&self, below: &str, body: Value) -> anyhow::Result<u16> {
        Ok(self.request(Method::POST, below).json(&body).send().await?.status().as_u16())
    }

    pub(super) async fn start(&self, step: &str) -> anyhow::Result<u16> {
        self.report(&format!("/steps/{step}/start"), json!({})).await
    }

    pub(super) async fn succeed(&self, step: &str, outputs: Value) -> anyhow::Result<u16> {
        let end = json!({ "status": "succeeded", "exitCode": 0, "outputs": outputs });
        self.report(&format!("/steps/{step}/end"), end).await
    }

    pub(super) async fn complete(&self, body: Value) -> anyhow::Result<u16> {
        self.report("/complete", body).await
    }

    /// Reports a checkout of this commit, and of this branch, as they are given. Returns the status of the response.
    pub(super) async fn check_out(&self, commit: &str, branch: Option<&str>) -> anyhow::Result<u16> {
        self.report("/checkout", json!({ "commitId": commit, "branch": branch })).await
    }

    /// Uploads an archive. Returns the status of the response.
    pub(super) async fn put(&self, below: &str, archive: Vec<u8>) -> anyhow::Result<u16> {
        Ok(self.request(Method::PUT, below).body(archive).send().await?.status().as_u16())
    }

    /// Downloads an archive, if the server gives it to this job.
    pub(super) async fn get(&self, below: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let response = self.request(Method::GET, below).send().await?;
        match response.status().as_u16() {
            200 => Ok(Some(response.bytes().await?.to_vec())),
            _ => Ok(None),
        }
    }

    pub(super) fn commit(&self) -> Option<&str> {
        self.given["source"]["commitId"].as_str()
    }

    /// Returns the branches that its checkout has to prove.
    pub(super) fn required_branches(&self) -> RequiredBranches {
        let required = &self.given["source"]["mustBeOn"];
        if required.is_null() {
            return RequiredBranches::None;
        }
        let allowed = required["anyOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        let named = required["branch"].as_str().map(|named| vec![named.to_owned()]);
        let allowed = || allowed.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect();
        match named.unwrap_or_else(allowed) {
            branches if branches.is_empty() => RequiredBranches::Any,
            branches => RequiredBranches::OneOf(branches),
        }
    }

    /// Returns the value of a variable of the first step.
    pub(super) fn variable(&self, name: &str) -> &str {
        self.given["steps"][0]["variables"][name].as_str().unwrap_or_default()
    }
}
