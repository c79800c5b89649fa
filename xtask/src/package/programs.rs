//! Compiles the programs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::release::Release;
use crate::entry;
use crate::ui;
use crate::workspace::{self, Workspace};

/// The profile in Cargo.toml.
const PROFILE: &str = "dist";

/// Returns the programs of a folder. They are copied without their debugging information, of which unoptimized programs have hundreds
/// of megabytes.
pub(crate) fn found(workspace: &Workspace, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let stripped = workspace.target_directory.join("package-trees").join("programs");
    fs::create_dir_all(&stripped).with_context(|| format!("cannot make {}", stripped.display()))?;
    ["greenroomd", "greenroom-runner", entry::PACKAGE]
        .into_iter()
        .map(|program| {
            let target = stripped.join(program);
            let mut strip = Command::new("strip");
            workspace::run(strip.arg("--output-file").arg(&target).arg(folder.join(program)))?;
            Ok(target)
        })
        .collect()
}

/// Builds greenroomd with the dashboard, the runner and its entrypoint, and returns their paths.
pub(crate) fn build(workspace: &Workspace, release: &Release) -> anyhow::Result<Vec<PathBuf>> {
    ui::build_dashboard(workspace)?;
    let triple = entry::triple()?;
    // Programs contain the paths of their sources, for the messages of panics.
    let home = env::var("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|_| env::var("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let root = workspace.workspace_root.display();
    let paths = [
        (home.display().to_string(), "/cargo"),
        (workspace.target_directory.display().to_string(), "/target"),
        (root.to_string(), "/source"),
    ];
    let flags: Vec<String> =
        paths.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    let c_flags: Vec<String> =
        paths.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();
    let configure = |command: &mut Command| {
        command
            .env("RUSTFLAGS", flags.join(" "))
            .env("CFLAGS", c_flags.join(" "))
            .env("CARGO_INCREMENTAL", "0")
            .env("SOURCE_DATE_EPOCH", release.epoch.to_string())
            .env("GREENROOM_COMMIT", &release.commit)
            .env("GREENROOM_LONG_VERSION", release.long_version());
    };
    // With a target, the flags are not used for build scripts, which other profiles share.
    let mut daemons = workspace.cargo(&["build", "--locked", "--profile", PROFILE, "--target", &triple]);
    configure(daemons.args(["--package", "greenroom-server", "--package", "greenroom-runner"]));
    workspace::run(&mut daemons)?;
    let mut entry = workspace.cargo(&entry::arguments(&triple));
    configure(&mut entry);
    workspace::run(&mut entry)?;
    let target = workspace.target_directory.join(triple);
    Ok(vec![
        target.join(PROFILE).join("greenroomd"),
        target.join(PROFILE).join("greenroom-runner"),
        target.join("release").join(entry::PACKAGE),
    ])
}
