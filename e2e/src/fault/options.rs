//! What a campaign is told to do.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Locks {
    /// How many operations there are to be at least; more if the faults take longer than they do.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) ops: u64,
    /// How many faults, spread evenly over the operations.
    #[arg(long, default_value_t = 10)]
    pub(crate) faults: u64,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Decides what clients do and which faults come in which order; random if left out.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=8))]
    pub(crate) servers: u64,
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=8))]
    pub(crate) workers: u64,
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(2..=512))]
    pub(crate) clients: u64,
    /// Named environments, in all organizations together; those of a template come on top.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..=200))]
    pub(crate) environments: u64,
    /// Keep the stack's folder, with logs and data.
    #[arg(long)]
    pub(crate) keep: bool,
    /// The name of a planted bug, for a daemon that was built with the feature `planted`.
    #[arg(long)]
    pub(crate) planted: Option<String>,
    /// Stop as soon as something is found.
    #[arg(long)]
    pub(crate) until_found: bool,
    /// The `greenroomd` to try, instead of the one beside this program.
    #[arg(long)]
    pub(crate) daemon: Option<PathBuf>,
}
