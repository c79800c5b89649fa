//! `cargo xtask fault key-rotation`: builds the programs, and replaces the master key of secrets while they are read.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 10_000)]
    secrets: u64,
    #[arg(long, default_value_t = 100)]
    organizations: u64,
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
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let arguments = ["fault", "key-rotation"];
    let mut program = build_program(workspace, &arguments, options.release, options.bin_dir.as_deref())?;
    program.args(["--secrets", &options.secrets.to_string()]);
    program.args(["--organizations", &options.organizations.to_string()]);
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
