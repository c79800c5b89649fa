//! The options of the hostile registries.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Hostile {
    /// Only registries whose name contains this text.
    pub(super) names: Vec<String>,
    /// Only those that CI tries.
    #[arg(long)]
    pub(super) quick: bool,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    pub(super) keep: bool,
    /// Path of greenroomd; beside this program if omitted.
    #[arg(long)]
    pub(super) daemon: Option<PathBuf>,
}
