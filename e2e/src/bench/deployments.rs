//! `bench deployments`: the cost of a deployment against the same steps on bare Temporal, the cost of a step
//! against `podman run`, how soon a deployment starts, how fast logs are stored, and what an idle runner
//! uses.

mod bare;
mod container;
mod engine;
pub(crate) mod fixture;
mod idle;
mod log;
mod log_file;
mod many_logs;
mod podman;
pub(crate) mod runner;
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
    /// Run only this part.
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Folder of greenroomd, greenroom-runner, greenroom-entry and greenroom-bare-engine; beside this program
    /// if omitted.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    entry: Option<PathBuf>,
    /// Engine: number of runs of each side.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Engine: number of deployments that are started together.
    #[arg(long, default_value_t = 200)]
    deployments: usize,
    /// Engine: number of clients that start them.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Engine: number of runners, each with capacity for its share of the deployments.
    #[arg(long, default_value_t = 4)]
    runners: usize,
    /// Container: number of runs of the step on each side.
    #[arg(long, default_value_t = 20)]
    containers: usize,
    /// Long: duration of the step.
    #[arg(long, default_value_t = 30)]
    long_seconds: u32,
    /// Long: number of runs on each side.
    #[arg(long, default_value_t = 3)]
    long_runs: usize,
    /// Start: number of deployments, one after the other.
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// Log: amount of output of the single step.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1024))]
    log_mib: u64,
    /// Log: number of steps that write concurrently, a mebibyte each.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=250))]
    log_steps: u32,
    /// Idle: duration of the measurement.
    #[arg(long, default_value_t = 30)]
    idle_seconds: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    /// Deployments per second ÷ those of the same steps on bare Temporal.
    Engine,
    /// The overhead of a stage of one short step over `podman run`.
    Container,
    /// The same as a share of a long step.
    Long,
    /// From the response to a deploy until its first step runs.
    Start,
    /// The log of one step with much output, and of many steps that write concurrently.
    Log,
    /// Resources of a runner without jobs.
    Idle,
}

/// The measured values: what is to be compared, and the details needed to judge it.
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
