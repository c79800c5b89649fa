//! `bench locks`: what a claim and a release cost against bare SQL, against a long past, and with many who watch.

mod growth;
pub(crate) mod load;
mod past;
mod plans;
mod reference;
pub(crate) mod scene;
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
    /// Measure only this.
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Speed: how long each run takes.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    /// Speed: how many runs there are of each side.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Speed: how many claim and release at once.
    #[arg(long, default_value_t = 32)]
    connections: u32,
    /// Growth: how many sessions the long past has.
    #[arg(long, default_value_t = 10_000_000)]
    sessions: i64,
    /// Watch: how many watch at once.
    #[arg(long, default_value_t = 5_000)]
    watchers: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    /// Pairs of claim and release through HTTP ÷ pairs of the reference's by pgbench.
    Speed,
    /// A claim, and a page of the history, with a long past ÷ with a short one.
    Growth,
    /// Memory for each who watches, and how soon the last one hears of a claim.
    Watch,
}

/// What was measured: what is to be compared, and beside it the details by which it can be judged.
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
