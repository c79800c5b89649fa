//! `cargo xtask fault overload`: builds daemon, runner, entrypoint and e2e's program, and attacks the server
//! with one organization's requests while another organization works.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::e2e;
use crate::fault::{build, code};
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
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    let beside = build(workspace, &["-p", "greenroom-e2e"], options.release, None)?;
    let mut program = Command::new(beside.with_file_name("greenroom-e2e"));
    program.args(["fault", "overload"]).current_dir(&workspace.workspace_root);
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
    for (flag, set) in [("--json", options.json), ("--keep", options.keep)] {
        if set {
            program.arg(flag);
        }
    }
    let status = program.status().context("cannot start greenroom-e2e")?;
    Ok(code(status.code()))
}
