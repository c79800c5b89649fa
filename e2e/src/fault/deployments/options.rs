//! The options of a campaign against deployments, and those that other campaigns with the same stack have too.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct Deployments {
    /// Number of deployments to request; cleanup deployments are added.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) deployments: u64,
    /// Number of faults, spread evenly over the deployments.
    #[arg(long, default_value_t = 4)]
    pub(crate) faults: u64,
    #[command(flatten)]
    pub(crate) campaign: CampaignOptions,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CampaignOptions {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Seed for the clients' choices and the order of faults; random if omitted.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Keep the stack's folder, with logs, data and the judged evidence.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Only faults whose name contains this text, such as `runner`; repeatable.
    #[arg(long)]
    pub(crate) only: Vec<String>,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; beside this program if omitted.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
    /// Path of the `greenroomd` under test, if it is elsewhere.
    #[arg(long)]
    pub(crate) daemon: Option<PathBuf>,
    /// Name of a planted bug, for a daemon that `cargo xtask fault planted` has built.
    #[arg(long)]
    pub(crate) planted: Option<String>,
    /// Whether the daemons can seal secrets.
    #[arg(skip)]
    pub(crate) seals: bool,
}
