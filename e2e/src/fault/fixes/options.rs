//! The options of `fault fixes`.

use clap::Args;

use crate::fault::stack_options::StackOptions;

#[derive(Clone, Debug, Args)]
pub(crate) struct Fixes {
    /// Number of fixes during which a part is killed.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(super) kills: u32,
    #[command(flatten)]
    pub(super) stack: StackOptions,
}
