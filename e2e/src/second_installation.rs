//! Two installations in one Temporal namespace: each with its own database, server, worker and runner, with
//! deployments running on both. Neither may touch the other's workflows.

mod check;
mod installation;
mod load;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use crate::parts::folder::Folder;
use crate::parts::output::print_progress;
use crate::parts::postgres::Postgres;
use crate::parts::programs::Programs;
use crate::parts::temporal::Temporal;
use crate::second_installation::installation::Installation;

#[derive(Debug, Args)]
pub(crate) struct SecondInstallation {
    /// Duration in minutes during which deployments are started on both.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Give both the same id, as two copies of one database would have: the checks have to find the
    /// consequences.
    #[arg(long)]
    same_id: bool,
    /// Print only a JSON object on stdout.
    #[arg(long)]
    json: bool,
    /// Keep logs and data in .stack.
    #[arg(long)]
    keep: bool,
    /// Folder of the product's programs, if not beside this one.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// Path of the runner's static entrypoint.
    #[arg(long)]
    entry: Option<PathBuf>,
}

pub(crate) async fn run(options: SecondInstallation) -> anyhow::Result<ExitCode> {
    let programs = Programs::find(options.bin_dir.as_deref(), None, options.entry.as_deref())?;
    let folder = Folder::make("second-installation", options.keep)?;
    let mut temporal = Temporal::new(&folder.path.join("temporal"))?;
    temporal.start()?;
    let postgres = Postgres::make(&folder.path.join("postgres")).await?;
    temporal.ready().await?;
    let mut first = Installation::make("first", (&folder, &programs), (&postgres, &temporal)).await?;
    let mut second = Installation::make("second", (&folder, &programs), (&postgres, &temporal)).await?;
    if options.same_id {
        second.copy_id_of(&first).await?;
    }
    for installation in [&mut first, &mut second] {
        installation.start(&programs).await?;
    }
    print_progress(&format!(
        "two installations run; deployments are started for {} minutes",
        options.minutes
    ));
    let (began, lasting) = (Instant::now(), Duration::from_secs_f64(options.minutes * 60.0));
    let stopped = tokio::try_join!(load::run(&first, lasting), load::run(&second, lasting));
    if let Err(error) = &stopped {
        print_progress(&format!("a deployment did not end as it should: {error:#}"));
    }
    let seconds = began.elapsed().as_secs();
    let mut violations: Vec<String> = stopped.err().map(|error| format!("{error:#}")).into_iter().collect();
    let mut figures = Vec::new();
    for installation in [&first, &second] {
        let found = check::check(installation, &temporal).await?;
        violations.extend(found.violations);
        figures.push(found.figures);
    }
    for installation in [&mut first, &mut second] {
        installation.end().await?;
    }
    temporal.kill().await?;
    let report = json!({
        "minutes": options.minutes,
        "seconds": seconds,
        "sameId": options.same_id,
        "installations": figures,
        "violations": violations,
    });
    let text = if options.json { report.to_string() } else { format!("{report:#}") };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
