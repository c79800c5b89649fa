//! `cargo xtask fault second-installation`: builds daemon, runner, entrypoint and e2e's program, and runs two
//! installations on one Temporal namespace.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;

use crate::e2e;
use crate::fault::{build, code};
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
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    let beside = build(workspace, &["-p", "greenroom-e2e"], false, None)?;
    let mut program = Command::new(beside.with_file_name("greenroom-e2e"));
    program.arg("second-installation").current_dir(&workspace.workspace_root);
    match &options.bin_dir {
        Some(folder) => {
            program.arg("--bin-dir").arg(folder);
        }
        None => {
            build(workspace, &["-p", "greenroom-server"], false, None)?;
            build(workspace, &["-p", "greenroom-runner"], false, None)?;
            program.arg("--entry").arg(e2e::entry(workspace)?);
        }
    }
    program.args(["--minutes", &options.minutes.to_string()]);
    for (flag, set) in [("--same-id", options.same_id), ("--json", options.json), ("--keep", options.keep)] {
        if set {
            program.arg(flag);
        }
    }
    let status = program.status().context("cannot start greenroom-e2e")?;
    Ok(code(status.code()))
}
