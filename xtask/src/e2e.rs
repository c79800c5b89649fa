//! `cargo xtask e2e`: builds daemon, runner, entrypoint and e2e's program, and runs the scenarios.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;

use crate::workspace::{self, Workspace};
use crate::{entry, fault};

#[derive(Args)]
pub(crate) struct Options {
    /// Only scenarios whose name contains this text
    names: Vec<String>,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Keep logs and data in .stack
    #[arg(long)]
    keep: bool,
    /// Take the programs from this folder instead of building them
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// More arguments for the program, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    workspace::run(&mut workspace.cargo(&["build", "-p", "greenroom-e2e"]))?;
    if options.bin_dir.is_none() {
        workspace::run(&mut workspace.cargo(&["build", "-p", "greenroom-server"]))?;
        workspace::run(&mut workspace.cargo(&["build", "-p", "greenroom-runner", "-p", "greenroom-entry"]))?;
    }
    let mut program = Command::new(workspace.target_directory.join("debug").join("greenroom-e2e"));
    program.arg("scenarios").args(&options.names).current_dir(&workspace.workspace_root);
    match &options.bin_dir {
        Some(folder) => program.arg("--bin-dir").arg(folder),
        None => program.arg("--entry").arg(entry::build(workspace)?),
    };
    program.args(&options.rest);
    fault::run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
