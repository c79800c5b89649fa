//! `bench analysis`: how often the analysis shows the decisive line of a failure, on the kept logs of `e2e/corpus` in
//! generated noise. Beside it: how often `tail` and `grep` show that line, and what an attacker achieves with texts for a model.

mod evidence;
mod injections;
mod layout;
mod report;
mod simple;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use crate::bench::print_progress;
use crate::corpus::{self, case};
use evidence::CaseResult;
use layout::NoisePool;
use report::Report;

#[derive(Debug, Args)]
pub(crate) struct BenchAnalysis {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Print what is shown of cases whose name contains this text. Held-out cases are not meant for that.
    #[arg(long)]
    show: Option<String>,
    /// How many injections to try.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=999))]
    injections: u16,
    #[arg(long, default_value = corpus::FOLDER, hide = true)]
    folder: PathBuf,
}

/// Returns failure if a bar is missed.
pub(crate) async fn run(arguments: &BenchAnalysis) -> anyhow::Result<ExitCode> {
    let cases = case::read_all(&arguments.folder)?;
    let mut pool = NoisePool::new();
    let mut results = Vec::new();
    for case in &cases {
        let result = CaseResult::measure(&arguments.folder, case, &mut pool)?;
        if arguments.show.as_ref().is_some_and(|text| case.name.contains(text.as_str())) {
            print_progress(&result.description());
        }
        results.push(result);
    }
    if results.is_empty() {
        bail!("the corpus is empty");
    }
    for result in results.iter().filter(|result| !result.is_held_out && result.is_notable()) {
        print_progress(&result.summary());
    }
    let injections = injections::measure(&arguments.folder, &cases, arguments.injections.into()).await?;
    for effect in &injections.through {
        print_progress(effect);
    }
    let report = Report::of(&results, injections);
    for bar in report.missed_bars() {
        print_progress(&format!("missed: {bar}"));
    }
    let value = report.to_json();
    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{value}")?
    } else {
        writeln!(out, "{value:#}")?
    }
    Ok(if report.missed_bars().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
