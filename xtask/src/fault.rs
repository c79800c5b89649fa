//! `cargo xtask fault`: builds the daemon and e2e's program and lets the program try the one with faults. Deployments, which need
//! the runner too, are in `fault/deployments.rs`.

mod deployments;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::say;
use crate::workspace::{self, Workspace};

/// Bugs that a daemon built with the feature `planted` has, if it is told so. The harness has to find each.
const PLANTED: [&str; 9] = [
    "no_recheck_after_wait",
    "claim_overtakes_waiter",
    "fence_not_raised_on_force",
    "release_without_owner_check",
    "stale_lock_cache",
    "answer_before_commit",
    "event_outside_transaction",
    "client_clock_for_expiry",
    "now_of_waiting_transaction",
];
/// One fault for so many operations.
const OPS_PER_FAULT: u64 = 1_000;

#[derive(Subcommand)]
pub(crate) enum Target {
    /// The locks, under load and faults. Exit code 0: nothing found; 1: violations; 2: not carried out; 3: void
    Locks(Locks),
    /// Deployments, from their acceptance to their last step. The same exit codes
    Deployments(deployments::Options),
    /// The locks against daemons with bugs in them, each of which has to be found
    Planted(Planted),
}

#[derive(Args)]
pub(crate) struct Locks {
    #[arg(long, default_value_t = 10_000)]
    ops: u64,
    #[arg(long, default_value_t = 10)]
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

#[derive(Args)]
pub(crate) struct Planted {
    /// How many operations a bug may take to be found
    #[arg(long, default_value_t = 200_000)]
    ops: u64,
    /// Only this one
    #[arg(long, value_parser = PLANTED)]
    only: Option<String>,
    /// Only one JSON object on stdout
    #[arg(long)]
    json: bool,
    #[arg(long)]
    seed: Option<u64>,
    /// Build in release mode
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(workspace: &Workspace, target: &Target) -> anyhow::Result<ExitCode> {
    match target {
        Target::Locks(options) => locks(workspace, options),
        Target::Deployments(options) => deployments::run(workspace, options),
        Target::Planted(options) => planted(workspace, options),
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

fn planted(workspace: &Workspace, options: &Planted) -> anyhow::Result<ExitCode> {
    let program =
        build(workspace, &["-p", "greenroom-e2e"], options.release, None)?.with_file_name("greenroom-e2e");
    // Apart from the normal ones, so that nobody ever starts a daemon with bugs in it by mistake.
    let apart = workspace.target_directory.join("planted");
    let features = ["-p", "greenroom-server", "--features", "planted"];
    let daemon = build(workspace, &features, options.release, Some(&apart))?;
    let mut bugs = Vec::new();
    for name in PLANTED.into_iter().filter(|name| options.only.as_deref().is_none_or(|only| only == *name)) {
        say::progress(format_args!("planted: {name}"));
        let mut search = Command::new(&program);
        search.current_dir(&workspace.workspace_root).args(["fault", "locks", "--json", "--until-found"]);
        search.arg("--daemon").arg(&daemon).args(["--planted", name, "--ops", &options.ops.to_string()]);
        search.args(["--faults", &options.ops.div_ceil(OPS_PER_FAULT).to_string()]);
        if let Some(seed) = options.seed {
            search.args(["--seed", &seed.to_string()]);
        }
        let output = search.stderr(Stdio::inherit()).output().context("cannot start greenroom-e2e")?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("the search for {name} was not carried out"))?;
        // Slowness does not count: a busy machine may be the cause of it.
        let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let first = findings.iter().find(|finding| finding["property"] != "L10").unwrap_or(&Value::Null);
        let found = !first.is_null();
        say::progress(format_args!("planted: {name} {}", if found { "found" } else { "NOT FOUND" }));
        bugs.push(json!({
            "name": name,
            "found": found,
            "ops": report["ops"],
            "seconds": report["seconds"],
            "by": first["property"],
            "finding": first["text"],
        }));
    }
    let found = bugs.iter().filter(|bug| bug["found"] == true).count();
    let all = found == bugs.len();
    if options.json {
        say::answer(json!({ "planted": bugs.len(), "found": found, "bugs": bugs }))?;
    } else {
        for bug in &bugs {
            say::answer(format_args!("{} by {} after {} operations", bug["name"], bug["by"], bug["ops"]))?;
        }
        say::answer(format_args!("{found} of {} found", bugs.len()))?;
    }
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
