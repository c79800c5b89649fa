//! `fault fixes`: fixes of failures while the parts that they need are killed. Properties:
//!
//! - `F1` A fix that was red and is green has exactly one pull request; any other has none.
//! - `F2` No fix leaves a session behind.
//! - `F3` Every fix ends as planted, or its draft is open, whatever is killed.
//! - `F4` An agent that uses the REST API alone gets a draft with links to the red and the green deployment.

mod agent;
mod fixture;
mod kill;
mod options;
mod repository;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;

use crate::fault::finding::FindingSummary;
use crate::fault::fixes::fixture::FixFixture;
pub(crate) use crate::fault::fixes::options::Fixes;
use crate::parts::interruption::Interruption;

pub(crate) async fn run(options: Fixes) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut interruption = Interruption::listen()?;
    let fixture = FixFixture::start(&options).await?;
    let played = interruption.or(Box::pin(play(&fixture, &options))).await;
    if played.is_err() {
        fixture.parts.print_recent_errors().await;
    }
    fixture.end(options.stack.keep).await?;
    let Played { agent, killed, summary } = played?;
    let void = (killed < options.kills as usize).then_some("a kill did not happen at its point");
    let report = json!({
        "planted": options.stack.planted,
        "fixes": options.kills + 1,
        "faults": killed,
        "doublePullRequests": summary.count("F1"),
        "sessionsLeft": summary.count("F2"),
        "stuck": summary.count("F3"),
        "agent": agent,
        "void": void,
        "violations": summary.violations,
        "violationsByProperty": summary.violations_by_property,
        "findings": summary.findings,
        "seconds": started.elapsed().as_secs(),
    });
    let text = if options.stack.json { report.to_string() } else { format!("{report:#}") };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(match (summary.violations, void) {
        (0, None) => ExitCode::SUCCESS,
        (0, Some(_)) => ExitCode::from(3),
        _ => ExitCode::FAILURE,
    })
}

struct Played {
    agent: serde_json::Value,
    /// How many parts were killed while the fix was in the planned status.
    killed: usize,
    summary: FindingSummary,
}

async fn play(fixture: &FixFixture, options: &Fixes) -> anyhow::Result<Played> {
    let mut summary = FindingSummary::default();
    let (agent, findings) = agent::run(fixture).await?;
    summary.add(findings);
    let mut killed = 0;
    for (number, point) in kill::points(options.kills).into_iter().enumerate() {
        let (was_hit, findings) = Box::pin(kill::play(fixture, number, point)).await?;
        killed += usize::from(was_hit);
        summary.add(findings);
    }
    Ok(Played { agent, killed, summary })
}
