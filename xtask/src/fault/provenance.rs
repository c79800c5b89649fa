//! `cargo xtask fault provenance`: builds daemon, runner, entrypoint and e2e's program, and runs deployments in pools of different
//! restriction, the lower of which have hostile runners.

use std::process::ExitCode;

use clap::Args;

use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 300)]
    deployments: u64,
    /// Shifts which archive is uploaded in which deployment
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let (deployments, seed) = (options.deployments.to_string(), options.seed.to_string());
    let arguments = ["--deployments".to_owned(), deployments, "--seed".to_owned(), seed];
    options.program.run(workspace, "fault provenance", &arguments)
}
