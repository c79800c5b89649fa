//! `cargo xtask fault planted`: whether the harness finds bugs that were put there, one at a time, and nothing where there is none.

use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::build;
use crate::say;
use crate::workspace::Workspace;

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
/// How long the same daemon is tried without a bug. A harness that finds something then finds nothing at all.
const CONTROL_OPS: u64 = 20_000;

#[derive(Args)]
pub(crate) struct Options {
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

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let program =
        build(workspace, &["-p", "greenroom-e2e"], options.release, None)?.with_file_name("greenroom-e2e");
    // Apart from the normal ones, so that nobody ever starts a daemon with bugs in it by mistake.
    let apart = workspace.target_directory.join("planted");
    let features = ["-p", "greenroom-server", "--features", "planted"];
    let daemon = build(workspace, &features, options.release, Some(&apart))?;
    let search = |bug: Option<&str>, ops: u64| -> anyhow::Result<Search> {
        let name = bug.unwrap_or("control");
        say::progress(format_args!("planted: {name}"));
        let mut search = Command::new(&program);
        search.current_dir(&workspace.workspace_root).args(["fault", "locks", "--json", "--until-found"]);
        search.arg("--daemon").arg(&daemon).args(["--ops", &ops.to_string()]);
        search.args(["--faults", &ops.div_ceil(OPS_PER_FAULT).to_string()]);
        if let Some(bug) = bug {
            search.args(["--planted", bug]);
        }
        if let Some(seed) = options.seed {
            search.args(["--seed", &seed.to_string()]);
        }
        let output = search.stderr(Stdio::inherit()).output().context("cannot start greenroom-e2e")?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("the search for {name} was not carried out"))?;
        let search = Search::read(name, &report);
        say::progress(format_args!(
            "planted: {name} {}",
            if search.found { "found" } else { "nothing found" }
        ));
        Ok(search)
    };
    let control = options.only.is_none().then(|| search(None, CONTROL_OPS)).transpose()?;
    let bugs = PLANTED
        .into_iter()
        .filter(|name| options.only.as_deref().is_none_or(|only| only == *name))
        .map(|name| search(Some(name), options.ops))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let found = bugs.iter().filter(|bug| bug.found).count();
    let as_it_should = found == bugs.len() && control.as_ref().is_none_or(|control| !control.found);
    let table = |searches: &[Search]| searches.iter().map(|search| search.json.clone()).collect::<Vec<_>>();
    if options.json {
        let control = control.map(|control| control.json);
        say::answer(
            json!({ "planted": bugs.len(), "found": found, "bugs": table(&bugs), "control": control }),
        )?;
    } else {
        for Search { json, found } in control.iter().chain(&bugs) {
            let how = if *found { format!("found by {}", json["by"]) } else { "nothing found".to_owned() };
            say::answer(format_args!("{}: {how} after {} operations", json["name"], json["ops"]))?;
        }
        say::answer(format_args!("{found} of {} found", bugs.len()))?;
    }
    Ok(if as_it_should { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a campaign until the first finding came to.
struct Search {
    found: bool,
    json: Value,
}

impl Search {
    fn read(name: &str, report: &Value) -> Self {
        // Slowness does not count: a busy machine may be the cause of it.
        let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let first = findings.iter().find(|finding| finding["property"] != "L10").unwrap_or(&Value::Null);
        let found = !first.is_null();
        let json = json!({
            "name": name,
            "found": found,
            "ops": report["ops"],
            "seconds": report["seconds"],
            "by": first["property"],
            "finding": first["text"],
        });
        Self { found, json }
    }
}
