//! `fault steps`: pipelines use a step of a registry. Then the registry publishes a newer version, moves the tag of the version that they
//! have locked, and dies. Properties:
//!
//! - `S1` Every deployment succeeds, and runs the content that its definition has locked.
//! - `S2` A moved tag is refused with an event, and changes no version.
//! - `S3` A runner never runs files with another digest than the locked one.
//! - `S4` The steps change when they are updated, and not before.

mod check;
mod fixture;
mod registry;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::json;

use crate::fault::finding::FindingSummary;
use crate::fault::steps::check::Checked;
use crate::fault::steps::fixture::StepFixture;
use crate::parts::interruption::Interruption;

#[derive(Clone, Debug, Args)]
pub(crate) struct Steps {
    #[arg(long, default_value_t = 100)]
    deployments: usize,
    #[arg(long, default_value_t = 5)]
    pipelines: usize,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    entry: Option<PathBuf>,
    /// Path of the daemon, if it is elsewhere.
    #[arg(long)]
    daemon: Option<PathBuf>,
    /// Name of a planted bug, for a daemon that `cargo xtask fault planted` has built.
    #[arg(long)]
    planted: Option<String>,
}

pub(crate) async fn run(options: Steps) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut interruption = Interruption::listen()?;
    let mut fixture = StepFixture::start(&options).await?;
    let checked = interruption.or(check::run(&mut fixture, options.deployments)).await;
    fixture.end(options.keep).await?;
    let Checked { succeeded, digests, moved_tags, mismatches, findings } = checked?;
    let mut summary = FindingSummary::default();
    summary.add(findings);
    let report = json!({
        "deployments": options.deployments,
        "pipelines": options.pipelines,
        "succeeded": succeeded,
        "digests": digests,
        "movedTagsRefused": moved_tags,
        "wrongDigestsRefused": mismatches,
        "planted": options.planted,
        "violations": summary.violations,
        "violationsByProperty": summary.violations_by_property,
        "findings": summary.findings,
        "seconds": started.elapsed().as_secs(),
    });
    let text = if options.json { report.to_string() } else { format!("{report:#}") };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(if summary.violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
