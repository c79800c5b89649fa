//! `cargo xtask fault planted`: runs the campaigns against daemons with planted bugs, each of which must be
//! found, and a control run without a bug, in which nothing may be found. The bugs are patches in
//! `e2e/planted`; `cargo xtask fault check-planted` checks that they can still be planted.

mod source;
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::fault::build;
use crate::fault::planted::tests::{TESTED_BUGS, TestedBug};
use crate::workspace::{self, Workspace};
use crate::{entry, output};

/// Bugs in locks. A daemon that is built from the patched sources has the one that the option `--planted`
/// names.
const LOCK_BUGS: [&str; 15] = [
    "no_recheck_after_wait",
    "claim_overtakes_waiter",
    "fence_not_raised_on_force",
    "release_without_owner_check",
    "stale_lock_cache",
    "answer_before_commit",
    "event_outside_transaction",
    "client_clock_for_expiry",
    "now_of_waiting_transaction",
    "rights_outlive_role",
    "silence_always_accepts",
    "settling_gives_up",
    "cancel_by_anybody",
    "read_confirms_turn",
    "absence_not_measured",
];
/// The same for deployments.
const DEPLOYMENT_BUGS: [&str; 10] = [
    "step_ignores_fence",
    "lost_at_once",
    "slot_passed_on_too_early",
    "wake_forgotten",
    "key_forgotten",
    "touch_forgotten",
    "steps_not_asked",
    "room_not_handed_out",
    "cancel_by_anybody",
    "overdue_keeps_lease",
];
/// The same for lasting environments.
const GATE_BUGS: [&str; 4] =
    ["slot_between_stages", "older_after_newer", "hold_ignored_at_start", "freeze_ignored_on_retry"];
/// The same for approvals.
const APPROVAL_BUGS: [&str; 5] = [
    "vote_per_token",
    "digest_not_compared",
    "lapsed_approval_starts",
    "latest_without_new_plan",
    "withdrawn_vote_counts",
];
/// The same for steps of registries.
const STEP_BUGS: [&str; 2] = ["floating_version", "moved_tag_accepted"];
/// The same for fixes of failures.
const FIX_BUGS: [&str; 2] = ["fix_keeps_session", "red_counts_as_green"];
/// The same for what a job gets from others. Most of them also have a test: see `TESTED_BUGS`.
const PROVENANCE_BUGS: [&str; 7] = [
    "undeclared_artifact",
    "production_reads_sessions_caches",
    "claimed_branch_trusted",
    "branch_by_say_so",
    "end_without_start",
    "step_out_of_order",
    "input_of_any_pool",
];
/// Bugs in locks that only outages of PostgreSQL show, and how many outages there are.
const OUTAGE_BUGS: [&str; 1] = ["absence_not_measured"];
const OUTAGES: &str = "20";
/// How many approvals are open at the same time, how many people vote, and how many faults come meanwhile.
const APPROVAL_ARGUMENTS: [&str; 6] = ["--approvals", "5", "--voters", "40", "--approval-faults", "2"];
/// Each of the bugs shows in the first deployment.
const STEP_DEPLOYMENTS: &str = "10";
/// So many that each pipeline is deployed in all ways.
const PROVENANCE_DEPLOYMENTS: &str = "48";
/// So many kills that one of the fixes is still red.
const FIX_KILLS: &str = "2";
/// Bugs searched for without faults: a fault that lasts longer than a lease ends the overdue job and hides
/// the bug.
const WITHOUT_FAULTS: [&str; 1] = ["overdue_keeps_lease"];
/// Number of operations per injected fault.
const OPS_PER_FAULT: u64 = 1_000;
/// Number of operations of the control run without a bug. If the harness reports anything there, its findings
/// prove nothing.
const CONTROL_OPS: u64 = 20_000;
const CONTROL: &str = "control";
/// A campaign with deployments or lasting environments is repeated so many times, each time with its share of the
/// deployments and faults, until the bug is found. Most bugs are found in the first round.
const ROUNDS: u64 = 5;
/// Latency properties. Their violation does not count as found: a busy machine may be the cause.
const LATENCY_PROPERTIES: [&str; 2] = ["L10", "D10"];

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Campaign {
    Locks,
    Deployments,
    Gates,
    /// The campaign of gates without its part with lasting environments
    Approvals,
    /// Steps of registries. A runner that does not verify digests is found by a test: see `secrets`
    Steps,
    Fixes,
    /// What a job gets from others. A runner that overwrites its checkout is found by a test: see `secrets`
    Provenance,
    /// No campaign: each bug has a test that must fail. Needs `DATABASE_URL`, as the tests do
    Secrets,
}

#[derive(Args)]
pub(crate) struct Options {
    /// Which bugs to search for
    #[arg(value_enum, default_value_t = Campaign::Locks)]
    campaign: Campaign,
    /// Within how many operations a lock bug must be found
    #[arg(long, default_value_t = 200_000)]
    ops: u64,
    /// Up to how many deployments per bug, for deployments and gates
    #[arg(long, default_value_t = 100)]
    deployments: u64,
    /// Up to how many faults per bug, for deployments and gates
    #[arg(long, default_value_t = 20)]
    faults: u64,
    /// Search only for this bug, without the control run
    #[arg(long)]
    only: Option<String>,
    /// Print only one JSON object on stdout
    #[arg(long)]
    json: bool,
    #[arg(long)]
    seed: Option<u64>,
    /// Build in release mode
    #[arg(long)]
    release: bool,
}

struct Programs {
    e2e: PathBuf,
    daemon: PathBuf,
    entry: PathBuf,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    if options.campaign == Campaign::Secrets {
        return run_tests(workspace, options);
    }
    let beside = build(workspace, &["-p", "greenroom-e2e"], options.release, None)?;
    build(workspace, &["-p", "greenroom-runner"], options.release, None)?;
    let daemon = build_daemon(workspace, options.release)?;
    let (e2e, entry) = (beside.with_file_name("greenroom-e2e"), entry::build(workspace)?);
    let programs = Programs { e2e, daemon, entry };
    let names: &[&str] = match options.campaign {
        Campaign::Locks => &LOCK_BUGS,
        Campaign::Deployments => &DEPLOYMENT_BUGS,
        Campaign::Gates => &GATE_BUGS,
        Campaign::Approvals => &APPROVAL_BUGS,
        Campaign::Steps => &STEP_BUGS,
        Campaign::Fixes => &FIX_BUGS,
        Campaign::Provenance => &PROVENANCE_BUGS,
        Campaign::Secrets => &[],
    };
    if let Some(only) = options.only.as_deref().filter(|only| !names.contains(only)) {
        anyhow::bail!("there is no bug {only} in this campaign, only: {}", names.join(", "));
    }
    let search = |name: &str| -> anyhow::Result<Value> {
        output::progress(format_args!("planted: {name}"));
        let search = search(&workspace.workspace_root, &programs, options, name)?;
        let outcome = if search["found"] == true { "found" } else { "nothing found" };
        output::progress(format_args!("planted: {name}: {outcome}"));
        Ok(search)
    };
    let control = options.only.is_none().then(|| search(CONTROL)).transpose()?;
    let bugs = names
        .iter()
        .filter(|name| options.only.as_deref().is_none_or(|only| only == **name))
        .map(|name| search(name))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let found = bugs.iter().filter(|bug| bug["found"] == true).count();
    let is_control_clean = control.as_ref().is_none_or(|control| control["found"] == false);
    if options.json {
        output::print(json!({ "planted": bugs.len(), "found": found, "bugs": bugs, "control": control }))?;
    } else {
        for search in control.iter().chain(&bugs) {
            output::print(format_args!(
                "{} by {} after {} s",
                search["name"], search["by"], search["seconds"]
            ))?;
        }
        output::print(format_args!("{found} of {} found", bugs.len()))?;
    }
    Ok(if is_control_clean && found == bugs.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Searches for the bugs that have tests.
fn run_tests(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let manifest = source::prepare(workspace, &bugs())?;
    let is_wanted = |bug: &&TestedBug| options.only.as_deref().is_none_or(|only| only == bug.name);
    let mut searches = Vec::new();
    for bug in TESTED_BUGS.iter().filter(is_wanted) {
        output::progress(format_args!("planted: {}", bug.name));
        searches.push(tests::search(workspace, &manifest, bug)?);
    }
    let found = searches.iter().filter(|search| search["found"] == true).count();
    if options.json {
        output::print(json!({ "planted": searches.len(), "found": found, "bugs": searches }))?;
    } else {
        for search in &searches {
            let outcome = if search["found"] == true { "found" } else { "NOT found" };
            output::print(format_args!("{}: {outcome} by {}", search["name"], search["by"]))?;
        }
    }
    Ok(if found == searches.len() && found > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Args)]
pub(crate) struct CheckOptions {
    /// Only apply the patches, and compile nothing
    #[arg(long)]
    apply_only: bool,
}

pub(crate) fn check(workspace: &Workspace, options: &CheckOptions) -> anyhow::Result<ExitCode> {
    let bugs = bugs();
    let manifest = source::prepare(workspace, &bugs)?;
    if options.apply_only {
        output::print(format_args!("The patches of all {} bugs apply.", bugs.len()))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Each program alone, as it is released: it must not depend on features that only another package enables.
    for package in ["greenroom-server", "greenroom-runner"] {
        // `cargo check` builds no program, so it can use the usual target folder, in which the dependencies are
        // compiled already.
        let mut cargo = workspace.cargo(&["check", "-p", package, "--manifest-path"]);
        cargo.arg(&manifest).arg("--target-dir").arg(&workspace.target_directory);
        // Cargo identifies a package by its path within the workspace, so a package of the copy would be taken for
        // the same one of the workspace, and for unchanged. With a wrapper, here one without an effect, they are
        // kept apart.
        cargo.env("RUSTC_WORKSPACE_WRAPPER", "/usr/bin/env");
        workspace::run(&mut cargo).context("the sources with planted bugs do not compile")?;
    }
    output::print(format_args!("All {} bugs can be planted.", bugs.len()))?;
    Ok(ExitCode::SUCCESS)
}

fn bugs() -> BTreeSet<&'static str> {
    let tested = TESTED_BUGS.iter().map(|bug| bug.name);
    let by_campaigns = LOCK_BUGS.into_iter().chain(DEPLOYMENT_BUGS).chain(GATE_BUGS).chain(APPROVAL_BUGS);
    by_campaigns.chain(STEP_BUGS).chain(FIX_BUGS).chain(PROVENANCE_BUGS).chain(tested).collect()
}

/// Builds the daemon with all bugs, one of which can be chosen when it is started.
fn build_daemon(workspace: &Workspace, release: bool) -> anyhow::Result<PathBuf> {
    let manifest = source::prepare(workspace, &bugs())?;
    let manifest = manifest.to_str().context("the path of the target folder is not UTF-8")?;
    // A separate target folder, so that a daemon with planted bugs is never started by mistake.
    let separate_target = workspace.target_directory.join("planted");
    let package = ["-p", "greenroom-server", "--manifest-path", manifest];
    build(workspace, &package, release, Some(&separate_target))
}

/// Runs the campaign that must find the bug, until it has found it, and returns the last result. The control run takes
/// as long as the search for a bug that is found in the first round.
fn search(root: &Path, programs: &Programs, options: &Options, name: &str) -> anyhow::Result<Value> {
    let rounds = match options.campaign {
        Campaign::Deployments | Campaign::Gates if name != CONTROL => ROUNDS,
        _ => 1,
    };
    let mut seconds = 0.0;
    let mut round = 1;
    loop {
        let mut result = search_once(root, programs, options, name, round)?;
        seconds += result["seconds"].as_f64().unwrap_or_default();
        if result["found"] == true || round == rounds {
            result["seconds"] = seconds.round().into();
            result["rounds"] = round.into();
            return Ok(result);
        }
        output::progress(format_args!("planted: {name}: nothing found in round {round} of {rounds}"));
        round += 1;
    }
}

fn search_once(
    root: &Path,
    programs: &Programs,
    options: &Options,
    name: &str,
    round: u64,
) -> anyhow::Result<Value> {
    let deployments = options.deployments.div_ceil(ROUNDS).to_string();
    let faults = if WITHOUT_FAULTS.contains(&name) { 0 } else { options.faults.div_ceil(ROUNDS) }.to_string();
    let mut search = Command::new(&programs.e2e);
    search.current_dir(root).arg("fault");
    match options.campaign {
        Campaign::Locks if OUTAGE_BUGS.contains(&name) => {
            search.args(["locks", "--until-found", "--outages", OUTAGES]);
        }
        Campaign::Locks => {
            let ops = if name == CONTROL { CONTROL_OPS } else { options.ops };
            search.args(["locks", "--until-found", "--ops", &ops.to_string()]);
            search.args(["--faults", &ops.div_ceil(OPS_PER_FAULT).to_string()]);
            if name == CONTROL {
                search.args(["--outages", OUTAGES]);
            }
        }
        Campaign::Secrets => {}
        Campaign::Gates => {
            search.args(["gates", "--approvals", "0", "--deployments", &deployments, "--faults", &faults]);
            search.arg("--entry").arg(&programs.entry);
        }
        Campaign::Approvals => {
            search.args(["gates", "--deployments", "0"]).args(APPROVAL_ARGUMENTS);
            search.arg("--entry").arg(&programs.entry);
        }
        Campaign::Steps => {
            search.args(["steps", "--deployments", STEP_DEPLOYMENTS]).arg("--entry").arg(&programs.entry);
        }
        Campaign::Fixes => {
            search.args(["fixes", "--kills", FIX_KILLS]).arg("--entry").arg(&programs.entry);
        }
        Campaign::Provenance => {
            search.args(["provenance", "--deployments", PROVENANCE_DEPLOYMENTS]);
            search.arg("--entry").arg(&programs.entry);
        }
        Campaign::Deployments => {
            search.args(["deployments", "--deployments", &deployments, "--faults", &faults]);
            search.arg("--entry").arg(&programs.entry);
        }
    }
    search.arg("--json").arg("--daemon").arg(&programs.daemon);
    if name != CONTROL {
        search.args(["--planted", name]);
    }
    if let Some(seed) = options.seed {
        search.args(["--seed", &(seed + round - 1).to_string()]);
    }
    let finished = search.stderr(Stdio::inherit()).output().context("cannot start greenroom-e2e")?;
    let report: Value = serde_json::from_slice(&finished.stdout)
        .with_context(|| format!("the search for {name} was not carried out"))?;
    if report["clockStepped"] == true {
        anyhow::bail!("the system clock was stepped during the search for {name}: run it again");
    }
    let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let counts =
        |finding: &&Value| !LATENCY_PROPERTIES.iter().any(|property| finding["property"] == *property);
    let first = findings.iter().find(counts).unwrap_or(&Value::Null);
    Ok(json!({
        "name": name,
        "found": !first.is_null(),
        "ops": report["ops"],
        "deployments": report["deployments"],
        "seconds": report["seconds"],
        "by": first["property"],
        "finding": first["text"],
    }))
}
