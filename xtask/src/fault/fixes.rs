//! `cargo xtask fault fixes`: builds daemon, runner, entrypoint and e2e's program, and kills parts while fixes are verified and
//! proposed.

use std::process::ExitCode;

use clap::Args;

use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// Number of fixes during which a part is killed
    #[arg(long, default_value_t = 32)]
    kills: u64,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let arguments = ["--kills".to_owned(), options.kills.to_string()];
    options.program.run(workspace, "fault fixes", &arguments)
}
