//! The options of a campaign against lasting environments and approvals.

use clap::Args;

use crate::fault::deployments::options::CampaignOptions;

#[derive(Clone, Debug, Args)]
pub(crate) struct Gates {
    /// Number of deployments to request; 0 for approvals only.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pub(crate) deployments: u64,
    /// Number of faults, spread evenly over the deployments.
    #[arg(long, default_value_t = 40)]
    pub(crate) faults: u64,
    /// Number of approvals that are open at the same time, rounded up to a multiple of three and two; 0 for none.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    pub(crate) approvals: u64,
    /// Number of people who vote on each of them.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(10..=1_000))]
    pub(crate) voters: u64,
    /// Number of faults, spread evenly over the votes.
    #[arg(long, default_value_t = 9)]
    pub(crate) approval_faults: u64,
    #[command(flatten)]
    pub(crate) campaign: CampaignOptions,
}
