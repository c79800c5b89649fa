//! The options of `fault verdicts`.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Verdicts {
    /// Number of deployments that fail. About as many succeed between them.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(30..=1_000))]
    pub(super) deployments: u32,
    /// Do not measure how soon the evidence of a log of 10 MB can be read.
    #[arg(long)]
    pub(super) without_long_logs: bool,
    /// Repeats which failures occur in which order.
    #[arg(long, default_value_t = 18)]
    pub(super) seed: u64,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    pub(super) keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    pub(super) bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    pub(super) entry: Option<PathBuf>,
    /// Path of the daemon, if it is elsewhere.
    #[arg(long)]
    pub(super) daemon: Option<PathBuf>,
}
