//! `bench compare`: two builds of the product, measured in alternated pairs by this one program, so that
//! nothing but the product differs. It uses only what every build of the product has: the operator's
//! commands, the HTTP API and the runner's command line. From the database it reads only `deployments.status`
//! and `deployments.ended_at`. `cargo xtask bench compare` builds both.

mod load;
mod options;
mod pair;
mod report;
mod side;
mod statistics;

use std::io::Write;

use crate::bench::print_progress;
pub(crate) use options::{BenchCompare, Benchmark};
use pair::Pair;
use report::Report;
use side::{Revision, Side};

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
