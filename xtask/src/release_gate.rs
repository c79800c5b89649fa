//! `cargo xtask release-gate`: everything that must hold before a release, which takes several hours: all steps of CI
//! with the planted bugs, the campaigns in their long sizes, the ratios in release builds, and the comparison with an
//! earlier revision.

use std::process::{Command, ExitCode};
use std::time::Instant;

use clap::Args;

use crate::output;
use crate::workspace::Workspace;

/// The sizes of a release: CI runs these campaigns too, with smaller ones, apart from the last two.
const LONG_CAMPAIGNS: [&str; 9] = [
    "fault locks --ops 60000 --faults 60 --outages 200",
    "fault deployments --deployments 100 --faults 17",
    "fault gates",
    "fault fixes",
    "fault verdicts --deployments 200",
    "fault provenance",
    "fault overload --release --gate-latency",
    "fault key-rotation",
    "fault second-installation",
];
const RATIOS: [&str; 4] = ["bench api", "bench locks", "bench deployments", "bench analysis"];

#[derive(Args)]
pub(crate) struct Options {
    /// The revision to compare with: the last release
    #[arg(long)]
    baseline: String,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let baseline = options.baseline.as_str();
    let xtask = |arguments: &str| -> Vec<String> {
        ["cargo", "xtask"].into_iter().chain(arguments.split(' ')).map(str::to_owned).collect()
    };
    let compare = format!("bench compare --baseline {baseline}");
    let mut commands = vec![vec![".ci/run".to_owned(), "--all".to_owned(), "--resume".to_owned()]];
    commands.extend(LONG_CAMPAIGNS.into_iter().chain([compare.as_str()]).chain(RATIOS).map(xtask));
    let mut rows = Vec::new();
    for command in commands {
        let started = Instant::now();
        let line = command.join(" ");
        output::progress(format_args!("{line}"));
        let mut program = Command::new(&command[0]);
        let status = program.args(&command[1..]).current_dir(&workspace.workspace_root).status();
        let has_passed = status.is_ok_and(|status| status.success());
        rows.push((has_passed, started.elapsed().as_secs(), line));
    }
    for (has_passed, seconds, command) in &rows {
        let result = if *has_passed { "ok" } else { "FAILED" };
        output::print(format_args!("{result:<7}{seconds:>7} s  {command}"))?;
    }
    let all_have_passed = rows.iter().all(|(has_passed, ..)| *has_passed);
    Ok(if all_have_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
