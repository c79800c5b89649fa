//! `cargo xtask fault overload`: builds daemon, runner, entrypoint and e2e's program, and attacks the server
//! with one organization's requests while another organization works.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::fault::{build_program, run_program};
use crate::workspace::Workspace;

#[derive(Clone, Copy, ValueEnum)]
enum Scale {
    Small,
    Full,
}

#[derive(Args)]
pub(crate) struct Options {
    /// How large the attacks are; `full` also runs each attack alone
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only this attack, such as `slow-bodies`; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// For how many seconds all attacks run concurrently
    #[arg(long)]
    seconds: Option<u64>,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Keep logs, data and samples in .stack
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
        build_program(workspace, &["fault", "overload"], options.release, options.bin_dir.as_deref())?;
    let scale = match options.scale {
        Scale::Small => "small",
        Scale::Full => "full",
    };
    program.args(["--scale", scale]);
    for attack in &options.only {
        program.args(["--only", attack]);
    }
    if let Some(seconds) = options.seconds {
        program.args(["--seconds", &seconds.to_string()]);
    }
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
