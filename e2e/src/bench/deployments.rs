//! `bench deployments`: the cost of a deployment against the same steps on bare Temporal, the cost of a step
//! against `podman run`, how soon a deployment starts, what secrets add to that, how fast logs are stored, and
//! what an idle runner uses.

mod bare;
mod container;
mod engine;
pub(crate) mod fixture;
mod idle;
mod log;
mod log_file;
mod log_read;
mod many_logs;
mod podman;
mod run;
pub(crate) mod runner;
mod secrets;
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
    /// Folder of greenroomd, greenroom-runner, greenroom-entry and greenroom-bare-engine. Default: the folder
    /// of this program.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// Path of greenroom-entry, if it is not in that folder.
    #[arg(long)]
    entry: Option<PathBuf>,
    /// Part `engine`: number of runs of Greenroom, and as many of bare Temporal.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Part `engine`: number of deployments that are started together.
    #[arg(long, default_value_t = 200)]
    deployments: usize,
    /// Part `engine`: number of clients that start the deployments.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Part `engine`: number of runners, each with capacity for its share of the deployments.
    #[arg(long, default_value_t = 4)]
    runners: usize,
    /// Part `container`: number of runs of the step in Greenroom, and as many with `podman run`.
    #[arg(long, default_value_t = 20)]
    containers: usize,
    /// Part `long`: duration of the step.
    #[arg(long, default_value_t = 30)]
    long_seconds: u32,
    /// Part `long`: number of runs in Greenroom, and as many with `podman run`.
    #[arg(long, default_value_t = 3)]
    long_runs: usize,
    /// Part `start`: number of deployments, one after the other; part `secrets`: number of steps of each kind.
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// Part `log`: amount of output of the single step.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1024))]
    log_mib: u64,
    /// Part `log`: number of steps that write concurrently, one mebibyte each.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=250))]
    log_steps: u32,
    /// Part `idle`: duration of the measurement.
    #[arg(long, default_value_t = 30)]
    idle_seconds: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    /// Deployments per second, divided by the rate of the same steps on bare Temporal.
    Engine,
    /// The overhead of a stage with one short step, compared with `podman run`.
    Container,
    /// The overhead of a stage with one long step, as a share of the step's duration.
    Long,
    /// The time from the response to a deploy request until the first step runs.
    Start,
    /// How much later a step with five secrets starts than one without.
    Secrets,
    /// How fast the log of one step with much output is stored, and the logs of many steps that write
    /// concurrently.
    Log,
    /// The resources that a runner without jobs uses.
    Idle,
}

/// The measured values by name. A value that is an object contains details, which are printed only with
/// `--json`; all other values are results.
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
    if wanted(Part::Secrets) {
        figures.extend(secrets::measure(&options, &programs).await?);
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
