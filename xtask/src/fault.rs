//! `cargo xtask fault`: builds the daemon and e2e's program and lets the program try the one with faults. Deployments, which need
//! the runner too, are in `fault/deployments.rs`, daemons with bugs in them in `fault/planted.rs`.

mod deployments;
mod overload;
mod planted;
mod second_installation;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Args, Subcommand};

use crate::workspace::{self, Workspace};

#[derive(Subcommand)]
pub(crate) enum Target {
    /// The locks, under load and faults. Exit code 0: nothing found; 1: violations; 2: not carried out; 3: void
    Locks(Locks),
    /// Deployments, from their acceptance to their last step. The same exit codes
    Deployments(deployments::Options),
    /// A hostile organization attacks with everything that it may send while another one works. The same exit codes
    Overload(overload::Options),
    /// Both against daemons with bugs in them, each of which has to be found
    Planted(planted::Options),
    /// Two installations on one Temporal namespace: none may touch the other's workflows. The same exit codes
    SecondInstallation(second_installation::Options),
}

#[derive(Args)]
pub(crate) struct Locks {
    #[arg(long, default_value_t = 10_000)]
    ops: u64,
    #[arg(long, default_value_t = 11)]
    faults: u64,
    /// Only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, default_value_t = 2)]
    servers: u64,
    #[arg(long, default_value_t = 2)]
    workers: u64,
    #[arg(long, default_value_t = 32)]
    clients: u64,
    #[arg(long, default_value_t = 20)]
    environments: u64,
    /// Keep logs, data and histories in .stack
    #[arg(long)]
    keep: bool,
    /// Build in release mode
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(workspace: &Workspace, target: &Target) -> anyhow::Result<ExitCode> {
    match target {
        Target::Locks(options) => locks(workspace, options),
        Target::Deployments(options) => deployments::run(workspace, options),
        Target::Overload(options) => overload::run(workspace, options),
        Target::Planted(options) => planted::run(workspace, options),
        Target::SecondInstallation(options) => second_installation::run(workspace, options),
    }
}

fn locks(workspace: &Workspace, options: &Locks) -> anyhow::Result<ExitCode> {
    // One by one: built together they share features, and each set of those would build the engine's SDK anew.
    build(workspace, &["-p", "greenroom-e2e"], options.release, None)?;
    let daemon = build(workspace, &["-p", "greenroom-server"], options.release, None)?;
    let mut program = Command::new(daemon.with_file_name("greenroom-e2e"));
    program.args(["fault", "locks"]).current_dir(&workspace.workspace_root);
    for (flag, number) in [
        ("--ops", Some(options.ops)),
        ("--faults", Some(options.faults)),
        ("--seed", options.seed),
        ("--servers", Some(options.servers)),
        ("--workers", Some(options.workers)),
        ("--clients", Some(options.clients)),
        ("--environments", Some(options.environments)),
    ] {
        number.inspect(|number| {
            program.args([flag, &number.to_string()]);
        });
    }
    for (flag, set) in [("--json", options.json), ("--keep", options.keep)] {
        if set {
            program.arg(flag);
        }
    }
    let status = program.status().context("cannot start greenroom-e2e")?;
    Ok(code(status.code()))
}

/// Builds, and says where the daemon is then.
fn build(
    workspace: &Workspace,
    what: &[&str],
    release: bool,
    apart: Option<&PathBuf>,
) -> anyhow::Result<PathBuf> {
    let mut cargo = workspace.cargo(&["build"]);
    cargo.args(what);
    if release {
        cargo.arg("--release");
    }
    if let Some(apart) = apart {
        cargo.arg("--target-dir").arg(apart);
    }
    workspace::run(&mut cargo)?;
    let target = apart.unwrap_or(&workspace.target_directory);
    Ok(target.join(if release { "release" } else { "debug" }).join("greenroomd"))
}

/// The program's own word; without one it was ended by a signal.
pub(crate) fn code(code: Option<i32>) -> ExitCode {
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(2), ExitCode::from)
}
