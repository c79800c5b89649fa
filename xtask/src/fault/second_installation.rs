//! `cargo xtask fault second-installation`: builds daemon, runner, entrypoint and e2e's program, and runs two
//! installations on one Temporal namespace.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// For how many minutes deployments are started on both installations
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Give both installations the same id: the checks must then report violations
    #[arg(long)]
    same_id: bool,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Keep logs and data in .stack
    #[arg(long)]
    keep: bool,
    /// Take the product's programs from this folder instead of building them
    #[arg(long)]
    bin_dir: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let mut program = build_program(workspace, &["second-installation"], false, options.bin_dir.as_deref())?;
    program.args(["--minutes", &options.minutes.to_string()]);
    let flags = [("--same-id", options.same_id), ("--json", options.json), ("--keep", options.keep)];
    run_program(program, &flags)
}
