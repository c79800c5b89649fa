//! `cargo xtask fault`: builds the daemon and e2e's program and runs fault campaigns. Campaigns for
//! deployments, which also need the runner, are in `fault/deployments.rs`, those for daemons with planted
//! bugs in `fault/planted.rs`.

mod deployments;
mod fixes;
mod gates;
mod key_rotation;
mod overload;
mod planted;
mod provenance;
mod second_installation;
mod steps;
mod tls;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Args, Subcommand};

use crate::entry;
use crate::workspace::{self, Workspace};

#[derive(Subcommand)]
pub(crate) enum Target {
    /// Locks under load and faults. Exit code 0: no violations; 1: violations; 2: not carried out; 3: void
    Locks(Locks),
    /// Deployments under faults, from acceptance to the last step. Same exit codes
    Deployments(deployments::Options),
    /// Deployments into lasting environments under faults: slots, order, holds, freezes. Same exit codes
    Gates(gates::Options),
    /// A hostile organization sends every request it is allowed to while another one works. Same exit codes
    Overload(overload::Options),
    /// The master key of secrets is replaced while steps of 100 organizations read 10,000 of them. Same exit codes
    KeyRotation(key_rotation::Options),
    /// Deployments of locked pipelines while the registry of their steps moves a tag and dies. Same exit codes
    Steps(steps::Options),
    /// Failures of known causes, and the verdicts about them. Same exit codes
    Verdicts(verdicts::Options),
    /// Fixes of failures, while what they need is killed. Same exit codes
    Fixes(fixes::Options),
    /// Hostile runners of low pools leave what higher pools must not get. Same exit codes
    Provenance(provenance::Options),
    /// Floods of a server's TLS port while another client works. Same exit codes
    Tls(tls::Options),
    /// Campaigns against daemons with planted bugs, each of which must be found
    Planted(planted::Options),
    /// Checks that every planted bug can still be planted: its patch applies, and the result compiles
    CheckPlanted(planted::CheckOptions),
    /// Two installations on one Temporal namespace: neither may touch the other's workflows. Same exit codes
    SecondInstallation(second_installation::Options),
}

#[derive(Args)]
pub(crate) struct Locks {
    /// By default 10,000, and none with `--outages`
    #[arg(long)]
    ops: Option<u64>,
    #[arg(long, default_value_t = 11)]
    faults: u64,
    /// How many outages of PostgreSQL follow, of 5 seconds to 10 minutes in moved time
    #[arg(long, default_value_t = 0)]
    outages: u64,
    /// Print only the program's JSON object on stdout
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
        Target::Gates(options) => gates::run(workspace, options),
        Target::Overload(options) => overload::run(workspace, options),
        Target::KeyRotation(options) => key_rotation::run(workspace, options),
        Target::Steps(options) => steps::run(workspace, options),
        Target::Verdicts(options) => verdicts::run(workspace, options),
        Target::Fixes(options) => fixes::run(workspace, options),
        Target::Provenance(options) => provenance::run(workspace, options),
        Target::Tls(options) => tls::run(workspace, options),
        Target::Planted(options) => planted::run(workspace, options),
        Target::CheckPlanted(options) => planted::check(workspace, options),
        Target::SecondInstallation(options) => second_installation::run(workspace, options),
    }
}

fn locks(workspace: &Workspace, options: &Locks) -> anyhow::Result<ExitCode> {
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    build(workspace, &["-p", "greenroom-e2e"], options.release, None)?;
    let daemon = build(workspace, &["-p", "greenroom-server"], options.release, None)?;
    let mut program = Command::new(daemon.with_file_name("greenroom-e2e"));
    program.args(["fault", "locks"]).current_dir(&workspace.workspace_root);
    for (flag, number) in [
        ("--ops", options.ops),
        ("--faults", Some(options.faults)),
        ("--outages", Some(options.outages)),
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
    run_program(program, &[("--json", options.json), ("--keep", options.keep)])
}

/// Builds e2e's program and returns the command that runs it with these arguments. Builds daemon, runner and
/// entrypoint too, unless there is a folder with them.
pub(crate) fn build_program(
    workspace: &Workspace,
    arguments: &[&str],
    release: bool,
    bin_dir: Option<&Path>,
) -> anyhow::Result<Command> {
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    let beside = build(workspace, &["-p", "greenroom-e2e"], release, None)?;
    let mut program = Command::new(beside.with_file_name("greenroom-e2e"));
    program.args(arguments).current_dir(&workspace.workspace_root);
    if let Some(folder) = bin_dir {
        program.arg("--bin-dir").arg(folder);
    } else {
        build(workspace, &["-p", "greenroom-server"], release, None)?;
        build(workspace, &["-p", "greenroom-runner"], release, None)?;
        program.arg("--entry").arg(entry::build(workspace)?);
    }
    Ok(program)
}

/// Runs e2e's program with the flags that are set, and returns its exit code.
pub(crate) fn run_program(mut program: Command, flags: &[(&str, bool)]) -> anyhow::Result<ExitCode> {
    program.args(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag));
    let status = program.status().context("cannot start greenroom-e2e")?;
    Ok(code(status.code()))
}

/// Builds packages and returns the path of the daemon in the same target folder.
fn build(
    workspace: &Workspace,
    packages: &[&str],
    release: bool,
    separate_target: Option<&PathBuf>,
) -> anyhow::Result<PathBuf> {
    let mut cargo = workspace.cargo(&["build"]);
    cargo.args(packages);
    if release {
        cargo.arg("--release");
    }
    if let Some(folder) = separate_target {
        cargo.arg("--target-dir").arg(folder);
    }
    workspace::run(&mut cargo)?;
    let target = separate_target.unwrap_or(&workspace.target_directory);
    Ok(target.join(if release { "release" } else { "debug" }).join("greenroomd"))
}

/// Converts the program's exit code. A program ended by a signal has none, which becomes 2.
fn code(code: Option<i32>) -> ExitCode {
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(2), ExitCode::from)
}
