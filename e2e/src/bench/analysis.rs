//! `bench analysis`: how often the analysis shows the decisive line of a failure, on the kept logs of `e2e/corpus` in
//! generated noise. Beside it: how often `tail` and `grep` show that line, and what an attacker achieves with texts for a model.
//! With `--model` it is measured what a model makes of the same failures.

mod context;
mod evidence;
mod injections;
mod layout;
mod model;
mod report;
mod runs;
mod simple;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use crate::bench::print_progress;
use crate::corpus::{self, case};
use evidence::CaseResult;
use layout::NoisePool;
use model::ModelOptions;
use report::Report;

const DEFAULT_INJECTIONS: u16 = 200;
const DEFAULT_MODEL_INJECTIONS: u16 = 20;

#[derive(Debug, Args)]
pub(crate) struct BenchAnalysis {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Print what is shown of cases whose name contains this text. Held-out cases are not meant for that.
    #[arg(long)]
    show: Option<String>,
    /// How many injections to try. Default: 200, and 20 with `--model`.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=999))]
    injections: Option<u16>,
    #[command(flatten)]
    model: ModelOptions,
    #[arg(long, default_value = corpus::FOLDER, hide = true)]
    folder: PathBuf,
}

impl BenchAnalysis {
    fn injections(&self, default: u16) -> usize {
        self.injections.unwrap_or(default).into()
    }
}

/// Returns failure if a bar is missed, or, with a model, if there was no valid response.
pub(crate) async fn run(arguments: &BenchAnalysis) -> anyhow::Result<ExitCode> {
    if let Some(address) = arguments.model.address() {
        let injections = arguments.injections(DEFAULT_MODEL_INJECTIONS);
        let report = Box::pin(model::run(&arguments.model, address, &arguments.folder, injections)).await?;
        print(&report.to_json(), arguments.json)?;
        return Ok(if report.has_worked() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
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
    let injections =
        injections::measure(&arguments.folder, &cases, arguments.injections(DEFAULT_INJECTIONS)).await?;
    for effect in &injections.through {
        print_progress(effect);
    }
    let report = Report::of(&results, injections);
    for bar in report.missed_bars() {
        print_progress(&format!("missed: {bar}"));
    }
    print(&report.to_json(), arguments.json)?;
    Ok(if report.missed_bars().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(value: &Value, is_compact: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    if is_compact { writeln!(out, "{value}") } else { writeln!(out, "{value:#}") }
}
