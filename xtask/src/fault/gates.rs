//! `cargo xtask fault gates`: builds daemon, runner, entrypoint and e2e's program, and runs deployments into lasting
//! environments, and votes on approvals, under faults.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 200)]
    deployments: u64,
    #[arg(long, default_value_t = 40)]
    faults: u64,
    /// Number of approvals that are open at the same time
    #[arg(long, default_value_t = 50)]
    approvals: u64,
    /// Number of people who vote on each of them
    #[arg(long, default_value_t = 200)]
    voters: u64,
    /// Number of faults while they vote
    #[arg(long, default_value_t = 9)]
    approval_faults: u64,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    #[arg(long)]
    seed: Option<u64>,
    /// Only faults whose name contains this text
    #[arg(long)]
    only: Vec<String>,
    /// Keep logs, data and the recorded history in .stack
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
        build_program(workspace, &["fault", "gates"], options.release, options.bin_dir.as_deref())?;
    program.args(["--deployments", &options.deployments.to_string()]);
    program.args(["--faults", &options.faults.to_string()]);
    program.args(["--approvals", &options.approvals.to_string()]);
    program.args(["--voters", &options.voters.to_string()]);
    program.args(["--approval-faults", &options.approval_faults.to_string()]);
    if let Some(seed) = options.seed {
        program.args(["--seed", &seed.to_string()]);
    }
    for name in &options.only {
        program.args(["--only", name]);
    }
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
