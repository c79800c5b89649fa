//! The options of `fault fixes`.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Fixes {
    /// Number of fixes during which a part is killed.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(super) kills: u32,
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
