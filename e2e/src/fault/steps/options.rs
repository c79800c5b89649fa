//! The options of `fault steps`.

use clap::Args;

use crate::fault::stack_options::StackOptions;

#[derive(Clone, Debug, Args)]
pub(crate) struct Steps {
    #[arg(long, default_value_t = 100)]
    pub(super) deployments: usize,
    #[arg(long, default_value_t = 5)]
    pub(super) pipelines: usize,
    #[command(flatten)]
    pub(super) stack: StackOptions,
}
