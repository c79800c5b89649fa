//! `cargo xtask canary`: builds daemon, runner, entrypoint and e2e's program, prints secrets in many forms and searches
//! everything for them.

use std::process::ExitCode;

use clap::Args;

use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// Number of prints; all secrets in all forms, cut at every place, if left out
    #[arg(long)]
    prints: Option<u64>,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let prints = options.prints.map(|prints| ["--prints".to_owned(), prints.to_string()]);
    options.program.run(workspace, "canary", prints.as_ref().map_or(&[], |prints| prints.as_slice()))
}
