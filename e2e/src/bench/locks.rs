//! `bench locks`: the cost of a claim and a release against bare SQL, with a long history, and with many
//! watchers.

pub(crate) mod fixture;
mod growth;
pub(crate) mod load;
mod past;
mod plans;
mod reference;
mod speed;
mod watch;
mod watchers;
pub(crate) mod wire;

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

#[derive(Debug, Args)]
pub(crate) struct BenchLocks {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Run only this part.
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Part `speed`: duration of each run.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    /// Part `speed`: number of runs of Greenroom, and as many of the reference.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Part `speed`: number of concurrent clients.
    #[arg(long, default_value_t = 32)]
    connections: u32,
    /// Part `growth`: number of sessions in the long history.
    #[arg(long, default_value_t = 10_000_000)]
    sessions: i64,
    /// Part `watch`: number of concurrent watchers.
    #[arg(long, default_value_t = 5_000)]
    watchers: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    /// Pairs of claim and release per second through HTTP, divided by the rate of the SQL reference in
    /// pgbench.
    Speed,
    /// The time of a claim with a long history, divided by the time with a short one; the same for a page of
    /// the history.
    Growth,
    /// Memory per watcher, and how soon the last watcher is notified of a claim.
    Watch,
}

/// The measured values by name. A value that is an object contains details, which are printed only with
/// `--json`; all other values are results.
type Figures = Map<String, Value>;

pub(crate) async fn run(arguments: BenchLocks) -> anyhow::Result<()> {
    let wanted = |part| arguments.only.is_none_or(|only| only == part);
    let mut figures = Figures::new();
    if wanted(Part::Speed) {
        figures.extend(speed::measure(&arguments).await?);
    }
    if wanted(Part::Growth) {
        figures.extend(growth::measure(&arguments).await?);
    }
    if wanted(Part::Watch) {
        figures.extend(watch::measure(&arguments).await?);
    }
    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{}", Value::Object(figures))?;
    } else {
        for (name, value) in figures.iter().filter(|(_, value)| !value.is_object()) {
            writeln!(out, "{name} {value}")?;
        }
    }
    Ok(())
}
