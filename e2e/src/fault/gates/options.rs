//! The options of a campaign against lasting environments.

use clap::Args;

use crate::fault::deployments::options::CampaignOptions;

#[derive(Clone, Debug, Args)]
pub(crate) struct Gates {
    /// Number of deployments to request.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) deployments: u64,
    /// Number of faults, spread evenly over the deployments.
    #[arg(long, default_value_t = 40)]
    pub(crate) faults: u64,
    #[command(flatten)]
    pub(crate) campaign: CampaignOptions,
}
