//! `cargo xtask fault steps`: builds daemon, runner, entrypoint and e2e's program, and runs deployments whose steps come from a
//! registry that moves a tag and dies.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 100)]
    deployments: u64,
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
    let mut program =
        build_program(workspace, &["fault", "steps"], options.release, options.bin_dir.as_deref())?;
    program.args(["--deployments", &options.deployments.to_string()]);
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
