//! `cargo xtask bench`: builds the daemon and e2e's program in release and lets the program measure.

use std::process::Command;

use clap::{Args, Subcommand};

use crate::workspace::{self, Workspace};

#[derive(Subcommand)]
pub(crate) enum Target {
    /// The API against the bare database and a bare handler
    Api(Options),
    /// Claims and releases against bare SQL, with a long past, and with many who watch
    Locks(Options),
}

#[derive(Args)]
pub(crate) struct Options {
    /// Only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// What else the program is to be told, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, target: &Target) -> anyhow::Result<()> {
    let (name, options) = match target {
        Target::Api(options) => ("api", options),
        Target::Locks(options) => ("locks", options),
    };
    let build = ["build", "--release", "-p", "greenroom-server", "-p", "greenroom-e2e"];
    workspace::run(&mut workspace.cargo(&build))?;

    let mut program = Command::new(workspace.target_directory.join("release").join("greenroom-e2e"));
    program.args(["bench", name]).current_dir(&workspace.workspace_root);
    if options.json {
        program.arg("--json");
    }
    workspace::run(program.args(&options.rest))
}
