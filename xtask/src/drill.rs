//! `cargo xtask drill`: rehearses what an operator does with an installation that is in use, and measures
//! what its parts need at rest.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};

use crate::bench;
use crate::fault::{build_program, run_program};
use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Subcommand)]
pub(crate) enum Target {
    /// Upgrades a stack under load from another revision to this checkout: migrations, servers, workers, runners
    Upgrade(Upgrade),
    /// Backs a stack up under load, restores it, verifies it, and looks for planted damages
    Restore(Load),
    /// Measures the memory and processor time of each part while nothing happens, before and after 100 deployments
    Footprint(Load),
}

#[derive(Args)]
pub(crate) struct Upgrade {
    /// The older revision, which is built in release mode, as this checkout then is
    #[arg(long)]
    from: Option<String>,
    /// A folder with the older greenroomd and greenroom-runner, instead of a revision
    #[arg(long)]
    from_dir: Option<PathBuf>,
    #[arg(long, default_value_t = 60)]
    deployments: u64,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Keep logs and data in .stack
    #[arg(long)]
    keep: bool,
}

#[derive(Args)]
pub(crate) struct Load {
    /// 20 for a restore and 100 for a footprint if omitted
    #[arg(long)]
    deployments: Option<u64>,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, target: &Target) -> anyhow::Result<ExitCode> {
    match target {
        Target::Upgrade(options) => upgrade(workspace, options),
        Target::Restore(load) => load.run(workspace, "drill restore", 20),
        Target::Footprint(load) => load.run(workspace, "drill footprint", 100),
    }
}

impl Load {
    fn run(&self, workspace: &Workspace, command: &str, deployments: u64) -> anyhow::Result<ExitCode> {
        let deployments = self.deployments.unwrap_or(deployments).to_string();
        self.program.run(workspace, command, &["--deployments".to_owned(), deployments])
    }
}

fn upgrade(workspace: &Workspace, options: &Upgrade) -> anyhow::Result<ExitCode> {
    let older = match (&options.from, &options.from_dir) {
        (Some(revision), None) => bench::build_revision(workspace, revision)?,
        (None, Some(folder)) => folder.clone(),
        _ => bail!("name the older programs with either --from or --from-dir"),
    };
    // Both are then optimized alike.
    let mut program = build_program(workspace, &["drill", "upgrade"], options.from.is_some(), None)?;
    program.args(["--deployments", &options.deployments.to_string()]).arg("--bin-dir").arg(older);
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}
