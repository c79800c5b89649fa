//! The options of a campaign against the locks.

use std::path::PathBuf;

use clap::Args;

const DEFAULT_OPS: u64 = 10_000;

#[derive(Clone, Debug, Args)]
pub(crate) struct Locks {
    /// Minimum number of operations; more if the faults take longer. By default 10,000, and none with `--outages`.
    #[arg(long)]
    ops: Option<u64>,
    /// Number of faults, spread evenly over the operations.
    #[arg(long, default_value_t = 10)]
    pub(crate) faults: u64,
    /// How many outages of PostgreSQL follow, of 5 seconds to 10 minutes in moved time.
    #[arg(long, default_value_t = 0)]
    pub(crate) outages: u64,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Seed for the clients' choices and the order of faults; random if omitted.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=8))]
    pub(crate) servers: u64,
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=8))]
    pub(crate) workers: u64,
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(2..=512))]
    pub(crate) clients: u64,
    /// Number of named environments in all organizations; those of a template are added.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..=200))]
    pub(crate) environments: u64,
    /// Keep the stack's folder, with logs and data.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Name of a planted bug, for a daemon that `cargo xtask fault planted` has built.
    #[arg(long)]
    pub(crate) planted: Option<String>,
    /// Stop at the first finding.
    #[arg(long)]
    pub(crate) until_found: bool,
    /// Path of the `greenroomd` under test; the one beside this program if omitted.
    #[arg(long)]
    pub(crate) daemon: Option<PathBuf>,
}

impl Locks {
    pub(crate) fn ops(&self) -> u64 {
        self.ops.unwrap_or(if self.outages > 0 { 0 } else { DEFAULT_OPS })
    }
}
