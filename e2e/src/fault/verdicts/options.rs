//! The options of `fault verdicts`.

use clap::Args;

use crate::fault::stack_options::StackOptions;

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
    #[command(flatten)]
    pub(super) stack: StackOptions,
}
