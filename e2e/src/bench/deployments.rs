//! `bench deployments`: what a deployment costs against the same steps on bare Temporal, what a step costs against
//! `podman run`, how soon a deployment starts, how fast logs come in, and what an idle runner uses.

mod bare;
mod container;
mod engine;
mod idle;
mod log;
mod log_file;
mod many_logs;
mod podman;
pub(crate) mod runner;
pub(crate) mod site;
mod start;
pub(crate) mod wave;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use crate::parts::programs::Programs;

#[derive(Debug, Args)]
pub(crate) struct BenchDeployments {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Measure only this.
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Where greenroomd, greenroom-runner, greenroom-entry and greenroom-bare-engine are; beside this program if left out.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// The entrypoint, if it is elsewhere.
    #[arg(long)]
    entry: Option<PathBuf>,
    /// Engine: how many runs there are of each side.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Engine: how many deployments are started at once.
    #[arg(long, default_value_t = 200)]
    deployments: usize,
    /// Engine: how many clients start them.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Engine: how many runners there are, each with room for its share of the deployments.
    #[arg(long, default_value_t = 4)]
    runners: usize,
    /// Container: how many times the step runs on each side.
    #[arg(long, default_value_t = 20)]
    containers: usize,
    /// Long: how long the step takes.
    #[arg(long, default_value_t = 30)]
    long_seconds: u32,
    /// Long: how many times it runs on each side.
    #[arg(long, default_value_t = 3)]
    long_runs: usize,
    /// Start: how many deployments there are, one after the other.
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// Log: how much one step says.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1024))]
    log_mib: u64,
    /// Log: how many steps talk at once, a mebibyte each.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=250))]
    log_steps: u32,
    /// Idle: for how long it is watched.
    #[arg(long, default_value_t = 30)]
    idle_seconds: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    /// Deployments per second ÷ those of the same steps on bare Temporal.
    Engine,
    /// What a stage of one short step adds to `podman run`.
    Container,
    /// The same as a share of a long step.
    Long,
    /// From the answer to a deploy until its first step runs.
    Start,
    /// The log of one step that says much, and of many that talk at once.
    Log,
    /// What a runner uses that has nothing to do.
    Idle,
}

/// What was measured: what is to be compared, and beside it the details by which it can be judged.
type Figures = Map<String, Value>;

pub(crate) async fn run(options: BenchDeployments) -> anyhow::Result<()> {
    let programs = Programs::find(options.bin_dir.as_deref(), None, options.entry.as_deref())?;
    let wanted = |part| options.only.is_none_or(|only| only == part);
    let mut figures = Figures::new();
    if wanted(Part::Engine) {
        figures.extend(engine::measure(&options, &programs).await?);
    }
    if wanted(Part::Container) {
        figures.extend(container::measure_short(&options, &programs).await?);
    }
    if wanted(Part::Long) {
        figures.extend(container::measure_long(&options, &programs).await?);
    }
    if wanted(Part::Start) {
        figures.extend(start::measure(&options, &programs).await?);
    }
    if wanted(Part::Log) {
        figures.extend(log::measure(&options, &programs).await?);
    }
    if wanted(Part::Idle) {
        figures.extend(idle::measure(&options, &programs).await?);
    }
    let mut out = std::io::stdout();
    if options.json {
        writeln!(out, "{}", Value::Object(figures))?;
    } else {
        for (name, value) in figures.iter().filter(|(_, value)| !value.is_object()) {
            writeln!(out, "{name} {value}")?;
        }
    }
    Ok(())
}
