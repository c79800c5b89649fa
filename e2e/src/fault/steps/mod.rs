//! `fault steps`: pipelines use a step of a registry. Then the registry publishes a newer version, moves the tag of the version that they
//! have locked, and dies. Properties:
//!
//! - `S1` Every deployment succeeds, and runs the content that its definition has locked.
//! - `S2` A moved tag is refused with an event, and changes no version.
//! - `S3` A runner never runs files with another digest than the locked one.
//! - `S4` The steps change when they are updated, and not before.

mod check;
mod fixture;
mod options;
mod registry;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;

use crate::fault::finding::FindingSummary;
use crate::fault::steps::check::Checked;
use crate::fault::steps::fixture::StepFixture;
pub(crate) use crate::fault::steps::options::Steps;
use crate::parts::interruption::Interruption;

pub(crate) async fn run(options: Steps) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut interruption = Interruption::listen()?;
    let mut fixture = StepFixture::start(&options).await?;
    let checked = interruption.or(check::run(&mut fixture, options.deployments)).await;
    fixture.end(options.stack.keep).await?;
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
        "planted": options.stack.planted,
        "violations": summary.violations,
        "violationsByProperty": summary.violations_by_property,
        "findings": summary.findings,
        "seconds": started.elapsed().as_secs(),
    });
    let text = if options.stack.json { report.to_string() } else { format!("{report:#}") };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(if summary.violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
