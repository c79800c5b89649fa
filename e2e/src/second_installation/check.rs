//! What must hold for each installation at the end: all of its deployments have succeeded, each of their
//! workflows was executed by its own worker alone, and none has waited for the engine for over a minute.

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::parts::temporal::Temporal;
use crate::second_installation::installation::Installation;

const MAX_CONCURRENT: usize = 4;

pub(super) struct CheckResult {
    pub(super) figures: Value,
    pub(super) violations: Vec<String>,
}

pub(super) async fn check(installation: &Installation, temporal: &Temporal) -> anyhow::Result<CheckResult> {
    let (name, id) = (installation.name, installation.id().await?);
    let mut violations = Vec::new();
    let mut connection = installation.connect().await?;
    let rows: Vec<(String, String)> =
        sqlx::query_as("select 'dep_' || id::text, status from deployments order by id")
            .fetch_all(&mut connection)
            .await?;
    for (deployment, status) in rows.iter().filter(|(_, status)| status != "succeeded") {
        violations.push(format!("{name}: {deployment} is {status}"));
    }
    let slowest: Option<f64> = sqlx::query_scalar(
        "select max(extract(epoch from started_at - created_at))::float8 from deployments where started_at is not null",
    )
    .fetch_one(&mut connection)
    .await?;
    let metrics = installation.worker.metrics().await?;
    let (overdue, missing) = (
        counter(&metrics, "greenroom_engine_overdue_wakes_total"),
        counter(&metrics, "greenroom_engine_missing_deployments_total"),
    );
    if overdue > 0.0 {
        violations.push(format!(
            "{name}: {overdue} times a deployment had waited for the engine for over a minute"
        ));
    }
    if missing > 0.0 {
        violations
            .push(format!("{name}: {missing} workflows were started for deployments that it does not have"));
    }
    let worker = format!("greenroomd {}", installation.worker.pid()?);
    let (mut reading, mut left) = (JoinSet::new(), rows.iter());
    let (mut workflows, mut tasks) = (0, 0);
    loop {
        while reading.len() < MAX_CONCURRENT
            && let Some((deployment, _)) = left.next()
        {
            let workflow = format!("{id}/deployment/{deployment}");
            let command = temporal.cli(&["workflow", "show", "--output", "json", "--workflow-id", &workflow]);
            reading.spawn(history(workflow, command));
        }
        let Some(read) = reading.join_next().await else { break };
        let (workflow, history) = read??;
        let Some(history) = history else {
            violations.push(format!("{name}: {workflow} does not exist"));
            continue;
        };
        workflows += 1;
        let executed = executed_by(&history);
        tasks += executed.len();
        for other in executed.into_iter().filter(|by| *by != worker).collect::<BTreeSet<_>>() {
            violations.push(format!("{name}: {workflow} was executed by `{other}`, not by `{worker}`"));
        }
        if !has_completed(&history) {
            violations.push(format!("{name}: {workflow} has not completed"));
        }
    }
    if rows.is_empty() {
        violations.push(format!("{name}: there were no deployments"));
    }
    let figures = json!({
        "name": name,
        "installationId": id,
        "deployments": rows.len(),
        "succeeded": rows.iter().filter(|(_, status)| status == "succeeded").count(),
        "workflows": workflows,
        "workflowTasks": tasks,
        "executedBy": worker,
        "slowestStartSeconds": slowest,
        "overdueWakes": overdue,
        "missingDeployments": missing,
    });
    Ok(CheckResult { figures, violations })
}

/// Returns the workflow's history, if Temporal has that workflow.
async fn history(
    workflow: String,
    mut command: tokio::process::Command,
) -> anyhow::Result<(String, Option<Value>)> {
    let output = command.output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && errors.contains("workflow not found") {
        return Ok((workflow, None));
    }
    let history = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no history of {workflow}: {errors}"))?;
    Ok((workflow, Some(history)))
}

/// Returns the identities of the workers that executed its tasks.
fn executed_by(history: &Value) -> Vec<&str> {
    let events = history["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    events
        .iter()
        .filter_map(|event| event["workflowTaskStartedEventAttributes"]["identity"].as_str())
        .collect()
}

fn has_completed(history: &Value) -> bool {
    let events = history["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    events.last().is_some_and(|event| event["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED")
}

fn counter(metrics: &str, name: &str) -> f64 {
    let values =
        metrics.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<f64>().ok());
    // A counter that was never incremented does not exist.
    values.fold(0.0, |sum, value| sum + value)
}
