//! `cargo xtask id-tokens`: builds daemon, runner, entrypoint and e2e's program, and lets a step exchange
//! its id tokens at a real relying party.

use std::process::ExitCode;

use clap::Args;

use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// How long the step exchanges its tokens
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How long a token is valid
    #[arg(long, default_value_t = 20)]
    token_seconds: u64,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let arguments =
        ["--seconds", &options.seconds.to_string(), "--token-seconds", &options.token_seconds.to_string()];
    options.program.run(workspace, "id-tokens", &arguments.map(str::to_owned))
}
