//! Deployments of the pipeline and of sessions, one after the other, until the time has passed.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Value, json};

use crate::parts::deadline::Deadline;
use crate::second_installation::installation::Installation;

const COMMIT: &str = "0123abc";
/// The steps take under a second: a deployment that takes longer than this was not executed by its own
/// installation.
const DEPLOYMENT_SECONDS: u64 = 90;

pub(super) async fn run(installation: &Installation, lasting: Duration) -> anyhow::Result<()> {
    let until = Instant::now() + lasting;
    let (pipeline, sessions) = tokio::join!(pipelines(installation, until), sessions(installation, until));
    pipeline.and(sessions).with_context(|| format!("on the {} installation", installation.name))
}

async fn pipelines(installation: &Installation, until: Instant) -> anyhow::Result<()> {
    while Instant::now() < until {
        let body = json!({ "commitId": COMMIT });
        let made = installation.call_ok(Method::POST, "/pipelines/shop/deployments", Some(&body)).await?;
        succeeded(installation, &made["id"]).await?;
    }
    Ok(())
}

async fn sessions(installation: &Installation, until: Instant) -> anyhow::Result<()> {
    let environment = "/pipelines/shop/ephemeral-environments/qa-1/sessions";
    while Instant::now() < until {
        let body = json!({ "commitId": COMMIT });
        let made = installation.call_ok(Method::POST, environment, Some(&body)).await?;
        succeeded(installation, &made["deployments"][0]["id"]).await?;
        let session = made["sessionId"].as_str().context("a session without an id")?;
        installation.call_ok(Method::DELETE, &format!("{environment}/{session}"), None).await?;
    }
    // The last cleanup.
    let deadline = Deadline::in_seconds(DEPLOYMENT_SECONDS);
    let live = "select count(*) from deployments where ended_at is null";
    let mut connection = installation.connect().await?;
    loop {
        let left: i64 = sqlx::query_scalar(live).fetch_one(&mut connection).await?;
        if left == 0 {
            return Ok(());
        }
        deadline.wait(|| format!("{left} deployments have not ended")).await?;
    }
}

async fn succeeded(installation: &Installation, id: &Value) -> anyhow::Result<()> {
    let id = id.as_str().context("a deployment without an id")?;
    let deadline = Deadline::in_seconds(DEPLOYMENT_SECONDS);
    loop {
        let record = installation.call_ok(Method::GET, &format!("/deployments/{id}"), None).await?;
        match record["status"].as_str() {
            Some("succeeded") => return Ok(()),
            Some("queued" | "running" | "waiting") => {}
            _ => bail!("deployment {id} ended as {}: {}", record["status"], record["reason"]),
        }
        deadline
            .wait(|| format!("deployment {id} is {}, waiting on {}", record["status"], record["waitingOn"]))
            .await?;
    }
}
