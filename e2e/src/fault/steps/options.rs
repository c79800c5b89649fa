//! The options of `fault steps`.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Steps {
    #[arg(long, default_value_t = 100)]
    pub(super) deployments: usize,
    #[arg(long, default_value_t = 5)]
    pub(super) pipelines: usize,
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
    /// Name of a planted bug, for a daemon that `cargo xtask fault planted` has built.
    #[arg(long)]
    pub(super) planted: Option<String>,
}
