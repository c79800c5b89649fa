//! The options of `fault provenance`.

use clap::Args;

use crate::fault::stack_options::StackOptions;

#[derive(Clone, Debug, Args)]
pub(crate) struct Provenance {
    /// Number of deployments, of all pipelines together.
    #[arg(long, default_value_t = 300)]
    pub(super) deployments: usize,
    /// Shifts which archive is uploaded in which deployment.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: usize,
    #[command(flatten)]
    pub(super) stack: StackOptions,
}
