//! `cargo xtask id-tokens`: builds daemon, runner, entrypoint and e2e's program, and lets a step exchange
//! its id tokens at a real relying party.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// How long the step exchanges its tokens
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How long a token is valid
    #[arg(long, default_value_t = 20)]
    token_seconds: u64,
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

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let mut program = build_program(workspace, &["id-tokens"], options.release, options.bin_dir.as_deref())?;
    program.args(["--seconds", &options.seconds.to_string()]);
    program.args(["--token-seconds", &options.token_seconds.to_string()]);
    program.args(&options.rest);
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
