//! `cargo xtask hostile`: builds the daemon and e2e's program, and adds step registries that attack their reader.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;

use crate::fault::run_program;
use crate::workspace::{self, Workspace};

#[derive(Args)]
pub(crate) struct Options {
    /// Only registries whose name contains this text
    names: Vec<String>,
    /// Only the few that CI tries
    #[arg(long)]
    quick: bool,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Keep logs and data in .stack
    #[arg(long)]
    keep: bool,
    /// Take this greenroomd instead of building it
    #[arg(long)]
    daemon: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    workspace::run(&mut workspace.cargo(&["build", "-p", "greenroom-e2e"]))?;
    let mut program = Command::new(workspace.target_directory.join("debug").join("greenroom-e2e"));
    program.arg("hostile").args(&options.names).current_dir(&workspace.workspace_root);
    match &options.daemon {
        Some(daemon) => drop(program.arg("--daemon").arg(daemon)),
        None => workspace::run(&mut workspace.cargo(&["build", "-p", "greenroom-server"]))?,
    }
    let flags = [("--quick", options.quick), ("--json", options.json), ("--keep", options.keep)];
    run_program(program, &flags)
}
