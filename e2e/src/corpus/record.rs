//! Deploys each case in all runs, and keeps its own output.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::corpus::FOLDER;
use crate::corpus::case::Case;
use crate::corpus::fixture::{CorpusFixture, STAGE};
use crate::corpus::log::{self, RUNS, StepEnd, is_good};
use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;

const END_TIMEOUT_SECONDS: u64 = 900;

pub(super) struct Report {
    cases: usize,
    deployments: usize,
    problems: Vec<String>,
}

impl Report {
    pub(super) fn print(&self, as_json: bool) -> ExitCode {
        let report = json!({
            "cases": self.cases,
            "deployments": self.deployments,
            "problems": self.problems,
        });
        let text = if as_json { report.to_string() } else { format!("{report:#}") };
        let written = writeln!(std::io::stdout(), "{text}");
        if written.is_ok() && self.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

pub(super) async fn record_all(
    fixture: &Arc<CorpusFixture>,
    cases: &[Case],
    parallel: u32,
) -> anyhow::Result<Report> {
    let slots = Arc::new(Semaphore::new(parallel as usize));
    let mut running = JoinSet::new();
    for case in cases.iter().cloned() {
        let (fixture, slots) = (Arc::clone(fixture), Arc::clone(&slots));
        running.spawn(async move {
            let _slot = slots.acquire_owned().await;
            let result = Box::pin(record(&fixture, &case)).await;
            (case.name, result)
        });
    }
    let mut report = Report { cases: cases.len(), deployments: 0, problems: Vec::new() };
    while let Some(ended) = running.join_next().await {
        let (name, result) = ended.context("a case broke the harness")?;
        report.deployments += RUNS.len();
        match result {
            Ok(()) => print_progress(&format!("ok {name}")),
            Err(error) => {
                print_progress(&format!("FAILED {name}: {error:#}"));
                report.problems.push(format!("{name}: {error:#}"));
            }
        }
    }
    Ok(report)
}

async fn record(fixture: &CorpusFixture, case: &Case) -> anyhow::Result<()> {
    let mut outputs = Vec::new();
    let mut last_end = StepEnd::default();
    for (run, commit) in RUNS.into_iter().zip(&fixture.commits) {
        let (status, end, text) =
            run_once(fixture, case, commit).await.with_context(|| format!("the run {run}"))?;
        let expected = if is_good(run) { "succeeded" } else { "failed" };
        let output = log::own_output(&text)?;
        if status != expected {
            bail!("{run} has {status}: {output}");
        }
        if !is_good(run) && !output.contains(&case.decisive) {
            bail!("the log of {run} does not contain `{}`: {output}", case.decisive);
        }
        last_end = end;
        outputs.push((run, output));
    }
    let folder = log::folder(Path::new(FOLDER), &case.name);
    std::fs::create_dir_all(&folder)?;
    for (run, output) in outputs {
        std::fs::write(folder.join(format!("{run}.log")), output)?;
    }
    Ok(std::fs::write(folder.join("end.json"), serde_json::to_string(&last_end)? + "\n")?)
}

/// Returns the deployment's status, how its step ended, and the step's whole log.
async fn run_once(
    fixture: &CorpusFixture,
    case: &Case,
    commit: &str,
) -> anyhow::Result<(String, StepEnd, String)> {
    let deployment = fixture.deploy(case, commit).await?;
    let deadline = Deadline::in_seconds(END_TIMEOUT_SECONDS);
    let status = loop {
        let found = fixture.get(&format!("/deployments/{deployment}")).await?;
        match found["status"].as_str() {
            Some(status @ ("succeeded" | "failed" | "errored" | "canceled")) => break status.to_owned(),
            _ => deadline.wait(|| format!("the deployment has not ended: {found:#}")).await?,
        }
    };
    let attempts = fixture.get(&format!("/deployments/{deployment}/stages/{STAGE}/attempts")).await?;
    let attempt = attempts.as_array().and_then(|all| all.last()).context("a stage without an attempt")?;
    let step = &attempt["steps"][0];
    let id = step["id"].as_str().context("a step without an id")?;
    let text = fixture.get_text(&format!("/deployments/{deployment}/steps/{id}/logs")).await?;
    let exit_code = step["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
    let field = |of: &serde_json::Value| of["reason"].as_str().map(str::to_owned);
    let end = StepEnd { exit_code, reason: field(attempt), detail: field(step) };
    Ok((status, end, text))
}
