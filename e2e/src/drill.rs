//! Rehearsals of what an operator does with an installation that is in use, upgrade and restore, and a measurement
//! of what its parts need at rest.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::fault::{CampaignOptions, Deployments, Disturbance, run_deployments};
use crate::parts::programs::Programs;

#[derive(Debug, Subcommand)]
pub(crate) enum Drill {
    /// Replace every part by a newer program while clients deploy and send 150 requests a second. `--bin-dir` has the older
    /// programs, and the newer ones are beside this one. Exit codes as of `fault`.
    Upgrade(Upgrade),
    /// Copy everything while clients deploy, restore it beside the original, and verify it and copies with damages. Exit codes
    /// as of `fault`.
    Restore(Load),
    /// Measure what each part needs while nothing happens, before the deployments and after them. Exit codes as of `fault`.
    Footprint(Load),
}

#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// Number of deployments to request.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    deployments: u64,
    /// Folder of the newer programs; beside this program if omitted.
    #[arg(long)]
    to_dir: Option<PathBuf>,
    #[command(flatten)]
    campaign: CampaignOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Number of deployments to request.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    deployments: u64,
    #[command(flatten)]
    campaign: CampaignOptions,
}

impl From<Load> for Deployments {
    fn from(Load { deployments, campaign }: Load) -> Self {
        Self { deployments, faults: 0, campaign }
    }
}

pub(crate) async fn run(what: Drill) -> anyhow::Result<ExitCode> {
    let outcome = match what {
        Drill::Upgrade(Upgrade { deployments, to_dir, campaign }) => {
            let new = Programs::find(to_dir.as_deref(), None, campaign.entry.as_deref())?;
            let options = Deployments { deployments, faults: 0, campaign };
            Box::pin(run_deployments(options, Disturbance::Upgrade(new))).await
        }
        Drill::Restore(load) => Box::pin(run_deployments(load.into(), Disturbance::Restore)).await,
        Drill::Footprint(load) => Box::pin(run_deployments(load.into(), Disturbance::None)).await,
    };
    crate::fault::not_carried_out(outcome)
}
