//! `cargo xtask fault deployments`: builds daemon, runner, entrypoint and e2e's program, and runs deployments
//! under faults.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;

use crate::e2e;
use crate::fault::{build, code};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 20)]
    deployments: u64,
    #[arg(long, default_value_t = 4)]
    faults: u64,
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
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    let beside = build(workspace, &["-p", "greenroom-e2e"], options.release, None)?;
    let mut program = Command::new(beside.with_file_name("greenroom-e2e"));
    program.args(["fault", "deployments"]).current_dir(&workspace.workspace_root);
    match &options.bin_dir {
        Some(folder) => {
            program.arg("--bin-dir").arg(folder);
        }
        None => {
            build(workspace, &["-p", "greenroom-server"], options.release, None)?;
            build(workspace, &["-p", "greenroom-runner"], options.release, None)?;
            program.arg("--entry").arg(e2e::entry(workspace)?);
        }
    }
    program.args(["--deployments", &options.deployments.to_string()]);
    program.args(["--faults", &options.faults.to_string()]);
    if let Some(seed) = options.seed {
        program.args(["--seed", &seed.to_string()]);
    }
    for name in &options.only {
        program.args(["--only", name]);
    }
    for (flag, set) in [("--json", options.json), ("--keep", options.keep)] {
        if set {
            program.arg(flag);
        }
    }
    let status = program.status().context("cannot start greenroom-e2e")?;
    Ok(code(status.code()))
}
