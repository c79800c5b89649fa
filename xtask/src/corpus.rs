//! `cargo xtask corpus run`: builds daemon, runner, entrypoint and e2e's program, runs the failures in e2e/corpus again and
//! keeps their logs.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Subcommand)]
pub(crate) enum Target {
    /// Runs the failures in containers, and keeps their logs. Exit code 0: done; 1: a case did not do what it has to; 2:
    /// not carried out
    Run(Options),
}

#[derive(Args)]
pub(crate) struct Options {
    /// Only cases whose name contains this text; can be repeated
    #[arg(long)]
    only: Vec<String>,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, target: &Target) -> anyhow::Result<ExitCode> {
    let Target::Run(options) = target;
    let only = options.only.iter().flat_map(|name| ["--only".to_owned(), name.clone()]);
    options.program.run(workspace, "corpus run", &only.collect::<Vec<String>>())
}
