//! The options of `bench compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct BenchCompare {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(super) json: bool,
    /// The folder with greenroomd, greenroom-runner and greenroom-entry of the new build.
    #[arg(long)]
    pub(super) new_dir: PathBuf,
    /// The folder with the same programs of the baseline.
    #[arg(long)]
    pub(super) baseline_dir: PathBuf,
    /// Number of pairs of runs of each benchmark.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(super) pairs: u64,
    /// Run only this benchmark.
    #[arg(long, value_enum)]
    pub(super) only: Option<Benchmark>,
    /// Duration of each run of `api` and `locks`.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(super) seconds: u32,
    /// Number of clients in each run.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) connections: u32,
    /// Number of deployments that each run of `engine` starts concurrently.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(super) deployments: u32,
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
    pub(super) const ALL: [Self; 3] = [Self::Api, Self::Locks, Self::Engine];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Locks => "locks",
            Self::Engine => "engine",
        }
    }
}
