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
    /// For how many seconds all attacks run concurrently, in six windows
    #[arg(long)]
    seconds: Option<u64>,
    /// Seed for the order of quiet and attack; random if omitted
    #[arg(long)]
    seed: Option<u64>,
    /// Make the ratio of latencies a violation too; for `--release` on a machine with nothing else to do
    #[arg(long)]
    gate_latency: bool,
    /// Turn off the server's limits, to see that the attack is found
    #[arg(long)]
    without_limits: bool,
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
    for (flag, number) in [("--seconds", options.seconds), ("--seed", options.seed)] {
        if let Some(number) = number {
            program.args([flag, &number.to_string()]);
        }
    }
    let flags = [
        ("--json", options.json),
        ("--keep", options.keep),
        ("--gate-latency", options.gate_latency),
        ("--without-limits", options.without_limits),
    ];
    run_program(program, &flags)
}
