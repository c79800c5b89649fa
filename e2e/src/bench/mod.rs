//! Benchmarks: each is a ratio of two measurements that alternate in the same minutes on the same machine.

mod analysis;
mod api;
pub(crate) mod bare;
mod compare;
mod deployments;
mod load;
mod locks;

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Measure how often the decisive line of a failure is shown, on the kept logs of e2e/corpus, and what injections into
    /// a model's prompt achieve. The exit code is 1 if a bar is missed. With `--model`: measure a model on the same failures.
    Analysis(analysis::BenchAnalysis),
    /// Compare an authenticated list of pipelines with a bare handler that runs the same query.
    Api(api::BenchApi),
    /// Compare claims and releases with the same effect in bare SQL, a short history with a long one, and
    /// measure many watchers.
    Locks(locks::BenchLocks),
    /// Compare two builds of the product in alternating pairs of runs. The exit code is 1 if the new build is
    /// slower, and 2 if that could not be measured.
    Compare(compare::BenchCompare),
    /// Compare deployments with the same steps on bare Temporal, and a container step with `podman run`.
    /// Measure starts, logs and an idle runner.
    Deployments(deployments::BenchDeployments),
}

pub(crate) async fn run(what: Bench) -> anyhow::Result<ExitCode> {
    match what {
        Bench::Analysis(arguments) => return analysis::run(&arguments).await,
        Bench::Api(arguments) => api::run(arguments).await?,
        Bench::Locks(arguments) => locks::run(arguments).await?,
        Bench::Deployments(arguments) => Box::pin(deployments::run(arguments)).await?,
        Bench::Compare(arguments) => return Ok(compared(Box::pin(compare::run(arguments)).await)),
    }
    Ok(ExitCode::SUCCESS)
}

/// A comparison that could not be carried out must not be taken for one that found the new build slower.
fn compared(outcome: anyhow::Result<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            print_progress(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Returns the median.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the quantile: the value that this share of the values does not exceed.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((values.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

/// Prints progress to standard error; standard output is for the result alone.
fn print_progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
