//! `cargo xtask fault verdicts`: builds daemon, runner, entrypoint and e2e's program, plants failures of known causes, and
//! compares the verdicts about them.

use std::process::ExitCode;

use clap::Args;

use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// Number of deployments that fail
    #[arg(long, default_value_t = 200)]
    deployments: u64,
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let mut arguments = vec!["--deployments".to_owned(), options.deployments.to_string()];
    if let Some(seed) = options.seed {
        arguments.extend(["--seed".to_owned(), seed.to_string()]);
    }
    options.program.run(workspace, "fault verdicts", &arguments)
}
