//! What a campaign against deployments is told to do.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Deployments {
    /// How many deployments are asked for. What cleans up after them comes on top.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) deployments: u64,
    /// How many faults, spread evenly over the deployments.
    #[arg(long, default_value_t = 4)]
    pub(crate) faults: u64,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Decides what clients do and which faults come in which order; random if left out.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Keep the stack's folder, with logs, data and what was judged.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Only faults whose name has this in it, such as `runner`; several are possible.
    #[arg(long)]
    pub(crate) only: Vec<String>,
    /// Where greenroomd, greenroom-runner and greenroom-entry are; beside this program if left out.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// The entrypoint, if it is elsewhere.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
    /// The `greenroomd` to try, if it is elsewhere.
    #[arg(long)]
    pub(crate) daemon: Option<PathBuf>,
    /// The name of a planted bug, for a daemon that was built with the feature `planted`.
    #[arg(long)]
    pub(crate) planted: Option<String>,
}
