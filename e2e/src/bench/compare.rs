//! `bench compare`: two builds of the product, measured in alternated pairs by this one program, so that
//! nothing but the product differs. It uses only what every build of the product has: the operator's
//! commands, the HTTP API and the runner's command line. From the database it reads only `deployments.status`
//! and `deployments.ended_at`. `cargo xtask bench compare` builds both.

mod load;
mod pair;
mod report;
mod side;
mod statistics;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::bench::print_progress;
use pair::Pair;
use report::Report;
use side::{Revision, Side};

#[derive(Debug, Args)]
pub(crate) struct BenchCompare {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// The folder with greenroomd, greenroom-runner and greenroom-entry of the new build.
    #[arg(long)]
    new_dir: PathBuf,
    /// The folder with the same programs of the baseline.
    #[arg(long)]
    baseline_dir: PathBuf,
    /// Number of pairs of runs of each benchmark.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pairs: u64,
    /// Run only this benchmark.
    #[arg(long, value_enum)]
    only: Option<Benchmark>,
    /// Duration of each run of `api` and `locks`.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Number of clients in each run.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    connections: u32,
    /// Number of deployments that each run of `engine` starts concurrently.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    deployments: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Benchmark {
    /// Authenticated lists of pipelines per second.
    Api,
    /// Pairs of claim and release per second.
    Locks,
    /// Deployments per second, from the first request until the last one has succeeded.
    Engine,
}

impl Benchmark {
    const ALL: [Self; 3] = [Self::Api, Self::Locks, Self::Engine];

    const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Locks => "locks",
            Self::Engine => "engine",
        }
    }
}

/// Returns whether no benchmark is slower.
pub(crate) async fn run(options: BenchCompare) -> anyhow::Result<bool> {
    print_progress("compare: starting a stack for each revision");
    let mut baseline = Side::start(Revision::Baseline, &options).await?;
    let mut new = match Side::start(Revision::New, &options).await {
        Ok(new) => new,
        Err(error) => {
            baseline.end().await?;
            return Err(error);
        }
    };
    let measured = measure(&options, &mut new, &mut baseline).await;
    // Both sides are ended, even if ending the first one fails.
    let (ended, also) = (new.end().await, baseline.end().await);
    let reports = measured?;
    ended?;
    also?;
    let mut out = std::io::stdout();
    if options.json {
        writeln!(out, "{}", Report::json(&reports))?;
    } else {
        for report in &reports {
            writeln!(out, "{report}")?;
        }
    }
    Ok(reports.iter().all(Report::is_not_slower))
}

async fn measure(options: &BenchCompare, new: &mut Side, baseline: &mut Side) -> anyhow::Result<Vec<Report>> {
    let mut reports = Vec::new();
    let wanted = |benchmark: &Benchmark| options.only.is_none_or(|only| only == *benchmark);
    for benchmark in Benchmark::ALL.into_iter().filter(wanted) {
        for side in [&mut *new, &mut *baseline] {
            side.prepare(benchmark, options).await?;
        }
        let mut pairs = Vec::new();
        for number in 1..=options.pairs {
            let pair = if number.is_multiple_of(2) {
                let new = new.run(benchmark, options).await?;
                Pair { baseline: baseline.run(benchmark, options).await?, new }
            } else {
                let baseline = baseline.run(benchmark, options).await?;
                Pair { new: new.run(benchmark, options).await?, baseline }
            };
            print_progress(&format!("{}, pair {number}: {pair}", benchmark.name()));
            pairs.push(pair);
        }
        let report = Report { benchmark: benchmark.name(), pairs };
        print_progress(&report.to_string());
        reports.push(report);
    }
    Ok(reports)
}
