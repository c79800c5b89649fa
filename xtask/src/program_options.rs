//! The options that all commands with a program of e2e have.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct ProgramOptions {
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

impl ProgramOptions {
    /// Builds the program and the product, and runs the program's command with these arguments.
    pub(crate) fn run(
        &self,
        workspace: &Workspace,
        command: &str,
        arguments: &[String],
    ) -> anyhow::Result<ExitCode> {
        let command: Vec<&str> = command.split(' ').collect();
        let mut program = build_program(workspace, &command, self.release, self.bin_dir.as_deref())?;
        program.args(arguments).args(&self.rest);
        run_program(program, &[("--json", self.json), ("--keep", self.keep)])
    }
}
