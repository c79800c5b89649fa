//! Deployments by people: into an environment that they claim, or without one.

use anyhow::{Context, ensure};
use reqwest::Method;
use serde_json::{Value, json};

use crate::fault::verdicts::fixture::VerdictFixture;
use crate::fault::verdicts::plants::STAGE;
use crate::parts::deadline::Deadline;

const END_TIMEOUT_SECONDS: u64 = 300;

/// Who deploys what.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) person: usize,
    pub(super) commit: String,
    pub(super) branch: Option<String>,
}

impl Change {
    fn body(&self) -> Value {
        let mut body = json!({ "commitId": self.commit });
        if let Some(branch) = &self.branch {
            body["branch"] = json!(branch);
        }
        body
    }
}

/// How a deployment has ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) deployment: String,
    pub(super) status: String,
    /// Its step run.
    pub(super) step: Option<String>,
}

/// An environment that is claimed.
pub(super) struct Claim<'a> {
    fixture: &'a VerdictFixture,
    person: usize,
    path: String,
}

impl VerdictFixture {
    pub(super) async fn claim(
        &self,
        pipeline: &str,
        environment: &str,
        person: usize,
    ) -> anyhow::Result<Claim<'_>> {
        let path = format!("/pipelines/{pipeline}/ephemeral-environments/{environment}/sessions");
        let body = json!({ "context": "a campaign", "ttlSeconds": 600 });
        let made = self.call(Some(person), Method::POST, &path, Some(body)).await?;
        let session = made["sessionId"].as_str().context("a session without an id")?;
        Ok(Claim { fixture: self, person, path: format!("{path}/{session}") })
    }

    /// Deploys into an environment, and releases it.
    pub(super) async fn deploy(
        &self,
        pipeline: &str,
        environment: &str,
        change: &Change,
    ) -> anyhow::Result<Ended> {
        let claim = self.claim(pipeline, environment, change.person).await?;
        let ended = claim.deploy(change).await?;
        claim.release().await?;
        Ok(ended)
    }

    /// Starts a deployment without an environment.
    pub(super) async fn start_deployment(&self, pipeline: &str, change: &Change) -> anyhow::Result<String> {
        let path = format!("/pipelines/{pipeline}/deployments");
        let made = self.call(Some(change.person), Method::POST, &path, Some(change.body())).await?;
        made["id"].as_str().map(str::to_owned).context("a deployment without an id")
    }

    pub(super) async fn end_of(&self, deployment: &str) -> anyhow::Result<Ended> {
        let deadline = Deadline::in_seconds(END_TIMEOUT_SECONDS);
        loop {
            let found = self.get(&format!("/deployments/{deployment}")).await?;
            if let Some(status @ ("succeeded" | "failed" | "errored" | "canceled")) = found["status"].as_str()
            {
                let step = found["stages"][0]["steps"][0]["id"].as_str().map(str::to_owned);
                return Ok(Ended { deployment: deployment.to_owned(), status: status.to_owned(), step });
            }
            deadline.wait(|| format!("the deployment has not ended: {found:#}")).await?;
        }
    }
}

impl Claim<'_> {
    pub(super) async fn deploy(&self, change: &Change) -> anyhow::Result<Ended> {
        let path = format!("{}/deploy", self.path);
        let made = self.fixture.call(Some(self.person), Method::POST, &path, Some(change.body())).await?;
        let id = made["id"].as_str().context("a deployment without an id")?;
        self.fixture.end_of(id).await
    }

    /// Retries the stage of a deployment that has failed.
    pub(super) async fn retry(&self, deployment: &str) -> anyhow::Result<Ended> {
        let path = format!("/deployments/{deployment}/stages/{STAGE}/retry");
        self.fixture.call(Some(self.person), Method::POST, &path, Some(json!({}))).await?;
        let ended = self.fixture.end_of(deployment).await?;
        ensure!(ended.status != "failed", "a flake has failed twice: {ended:?}");
        Ok(ended)
    }

    pub(super) async fn release(self) -> anyhow::Result<()> {
        self.fixture.call(Some(self.person), Method::DELETE, &self.path, None).await.map(drop)
    }
}
