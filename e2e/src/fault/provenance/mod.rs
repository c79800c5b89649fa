//! `fault provenance`: pipelines whose stages run in pools of different restriction. Hostile runners of the lower pools upload, report
//! and complete what they like. All bytes that a runner leaves have a mark with their origin, and all that a job gets is searched for
//! marks: through the runner's API, or in the workspaces of the product's own runner. Properties:
//!
//! - `P1` A job gets nothing that it must not get, by the campaign's own table of origins (`oracle.rs`).
//! - `P2` An attempt succeeds only if each of its steps has started.
//! - `P3` Steps start in order.
//! - `P4` An upload or a report that the definition does not permit is refused.

mod archive;
mod attack;
mod definition;
mod deployer;
mod fixture;
mod hostile;
mod judge;
mod leaving;
mod mark;
mod options;
mod oracle;
mod pipelines;
mod reader;
mod reading;
mod record;
mod report;
mod runner_api;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use tokio::task::JoinSet;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::provenance::fixture::ProvenanceFixture;
pub(crate) use crate::fault::provenance::options::Provenance;
use crate::fault::provenance::pipelines::PIPELINES;
use crate::fault::provenance::record::Record;
use crate::fault::provenance::report::Report;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;

pub(crate) async fn run(options: Provenance) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut interruption = Interruption::listen()?;
    let fixture = Arc::new(ProvenanceFixture::start(&options).await?);
    let outcome = interruption.or(campaign(&fixture, &options)).await;
    let fixture = Arc::try_unwrap(fixture).ok().context("a deployer still uses the stack")?;
    fixture.end(options.stack.keep).await?;
    let mut report = outcome?;
    report.seconds = started.elapsed().as_secs();
    report.finish(options.stack.json)
}

async fn campaign(fixture: &Arc<ProvenanceFixture>, options: &Provenance) -> anyhow::Result<Report> {
    let record = Arc::new(Record::default());
    let own_runners = fixture.start_own_runners(&record, options.seed);
    let deployed = deploy(fixture, &record, options.deployments).await;
    // Their current jobs have ended, because all deployments have.
    end(own_runners).await;
    deployed?;
    let recorded = Arc::try_unwrap(record).ok().context("a runner still uses the record")?.into_inner();
    let sessions = recorded.deployments.values().filter(|started| started.is_session).count();
    let deployments = recorded.deployments.len();
    print_progress(&format!("{deployments} deployments have ended"));
    let judged = judge::run(fixture, recorded).await?;
    Ok(Report::new(options, (deployments, sessions), judged))
}

/// Starts the deployments of all pipelines concurrently.
async fn deploy(
    fixture: &Arc<ProvenanceFixture>,
    record: &Arc<Record>,
    deployments: usize,
) -> anyhow::Result<()> {
    let mut deploying = JoinSet::new();
    for (number, pipeline) in PIPELINES.iter().enumerate() {
        let (fixture, record) = (Arc::clone(fixture), Arc::clone(record));
        let count = (number..deployments).step_by(PIPELINES.len()).count();
        deploying.spawn(async move { deployer::run(&fixture, &record, pipeline, count).await });
    }
    let mut outcome = Ok(());
    while let Some(joined) = deploying.join_next().await {
        let ended = joined.context("a deployer broke the harness").flatten();
        if outcome.is_ok() && ended.is_err() {
            deploying.abort_all();
            outcome = ended;
        }
    }
    outcome
}

async fn end(mut running: JoinSet<()>) {
    running.abort_all();
    while running.join_next().await.is_some() {}
}
