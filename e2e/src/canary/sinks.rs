//! Everything that is left when the steps have ended: stored logs, responses of the API, events, histories of
//! workflows, logs and metrics of the programs, and what is on the disk.

use std::process::Stdio;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::Value;
use tokio::process::Command;

use crate::canary::fixture::{CONTROL_PIPELINE, CanaryFixture, PIPELINE};
use crate::canary::print::STAGES;
use crate::canary::print::stage_key;
use crate::search::{Found, Needles};

pub(crate) async fn collect(
    fixture: &CanaryFixture,
    deployment: &str,
    needles: &Needles,
) -> anyhow::Result<Vec<(&'static str, Found)>> {
    let parts = &fixture.parts;
    let logs = fixture.logs(deployment).await?.concat();
    let [server_log, worker_log] =
        ["serve", "worker"].map(|role| parts.folder.join(format!("logs/{role}.log")));
    let mut sinks = vec![
        ("storedLogs", needles.search(&logs)),
        ("apiResponses", needles.search(&api_responses(fixture, deployment).await?)),
        ("events", needles.search(&events(fixture).await?)),
        ("workflowHistories", needles.search(&histories(fixture).await?)),
        ("serverLog", needles.search_files(&server_log)),
        ("workerLog", needles.search_files(&worker_log)),
        ("metrics", needles.search(parts.metrics().await?.as_bytes())),
        ("databaseDump", needles.search(&database_dump(fixture).await?)),
        ("objectStore", needles.search_files(&parts.folder.join("objects"))),
        ("serviceFiles", needles.search_files(&parts.services_folder().join("logs"))),
        ("temporalFiles", needles.search_files(&parts.services_folder().join("temporal"))),
    ];
    for runner in &fixture.runners {
        sinks.push(("runnerLogs", needles.search_files(&runner.log())));
    }
    Ok(sinks)
}

/// Returns the responses to reads of everything that has to do with the deployment.
async fn api_responses(fixture: &CanaryFixture, deployment: &str) -> anyhow::Result<Vec<u8>> {
    let mut paths: Vec<String> =
        ["/secrets?limit=100", "/deployments?limit=100", "/runners", "/runner-pools", "/summary"]
            .into_iter()
            .map(str::to_owned)
            .collect();
    for pipeline in [PIPELINE, CONTROL_PIPELINE] {
        paths.extend(
            ["", "/versions", "/versions/1", "/caches"].map(|below| format!("/pipelines/{pipeline}{below}")),
        );
    }
    paths.extend(["", "/secret-reads?limit=100"].map(|below| format!("/deployments/{deployment}{below}")));
    for stage in 0..STAGES {
        let stage_path = format!("/deployments/{deployment}/stages/{}", stage_key(stage));
        paths.extend([stage_path.clone(), format!("{stage_path}/attempts")]);
        let log = fixture.log_path(deployment, stage).await?.context("a stage without a step")?;
        paths.extend([format!("{log}/index"), format!("{log}/search?q=canary")]);
    }
    let secrets = fixture.get("/secrets?limit=100").await?;
    for id in secrets.as_array().into_iter().flatten().filter_map(|secret| secret["id"].as_str()) {
        paths.extend(["", "/versions", "/reads"].map(|below| format!("/secrets/{id}{below}")));
    }
    let mut responses = Vec::new();
    for path in paths {
        let response = fixture.request(Method::GET, &path).send().await?;
        if response.status().is_server_error() {
            bail!("{path} returned {}", response.status());
        }
        responses.extend_from_slice(format!("{path} {:?}\n", response.headers()).as_bytes());
        responses.extend_from_slice(&response.bytes().await?);
    }
    Ok(responses)
}

async fn events(fixture: &CanaryFixture) -> anyhow::Result<Vec<u8>> {
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let page = fixture.get(&format!("/events?limit=100&after={after}")).await?;
        let Some(last) = page.as_array().and_then(|page| page.last()) else { return Ok(events) };
        events.extend_from_slice(page.to_string().as_bytes());
        after = last["sequence"].as_i64().context("an event without a sequence")?;
    }
}

/// Returns the histories of all workflows, with payloads as text.
async fn histories(fixture: &CanaryFixture) -> anyhow::Result<Vec<u8>> {
    let list = fixture.parts.temporal_cli(&["workflow", "list", "--output", "json"])?;
    let list: Value = serde_json::from_slice(&output(list).await?)?;
    let mut histories = Vec::new();
    for run in list.as_array().into_iter().flatten() {
        let field = |name: &str| run["execution"][name].as_str().map(str::to_owned);
        let (id, run) = (field("workflowId").context("a workflow without an id")?, field("runId"));
        let run = run.context("a workflow without a run")?;
        let arguments = ["workflow", "show", "--workflow-id", &id, "--run-id", &run, "--output", "json"];
        histories.extend(output(fixture.parts.temporal_cli(&arguments)?).await?);
    }
    Ok(histories)
}

async fn database_dump(fixture: &CanaryFixture) -> anyhow::Result<Vec<u8>> {
    let mut dump = Command::new(fixture.parts.postgres_program("pg_dump"));
    dump.arg(fixture.parts.database_url());
    output(dump).await
}

async fn output(mut command: Command) -> anyhow::Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().await?;
    if !output.status.success() {
        bail!("{:?}: {}", command.as_std(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}
