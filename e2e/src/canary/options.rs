//! The options of the canary.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Canary {
    /// Number of prints. All secrets in all forms, cut at every place, are 51,200.
    #[arg(long, default_value_t = 51_200, value_parser = clap::value_parser!(u32).range(50..=200_000))]
    pub(crate) prints: u32,
    /// Number of secrets.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(10..=50))]
    pub(crate) secrets: u32,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// Path of greenroom-entry, if it is not in that folder.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
}
