//! `cargo xtask canary`: builds daemon, runner, entrypoint and e2e's program, prints secrets in many forms and searches
//! everything for them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// Number of prints; all secrets in all forms, cut at every place, if left out
    #[arg(long)]
    prints: Option<u64>,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Keep logs and data in .stack
    #[arg(long)]
    keep: bool,
    /// Build in release mode
    #[arg(long)]
    release: bool,
    /// Take the product's programs from this folder instead of building them
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// More arguments for the program, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let mut program = build_program(workspace, &["canary"], options.release, options.bin_dir.as_deref())?;
    if let Some(prints) = options.prints {
        program.args(["--prints", &prints.to_string()]);
    }
    program.args(&options.rest);
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
