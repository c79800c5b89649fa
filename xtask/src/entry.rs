//! `cargo xtask entry`: builds the runner's entrypoint for this machine, linked statically so that it runs in
//! any image.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::output;
use crate::workspace::{self, Workspace};

pub(crate) const PACKAGE: &str = "greenroom-entry";

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    output::print(build(workspace)?.display()).context("cannot print its path")
}

/// Builds the entrypoint and returns its path.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let triple = triple()?;
    workspace::run(&mut workspace.cargo(&arguments(&triple)))?;
    let program = workspace.target_directory.join(triple).join("release").join(PACKAGE);
    let size =
        std::fs::metadata(&program).with_context(|| format!("{} was not built", program.display()))?.len();
    output::progress(format_args!("{} KiB", size / 1024));
    Ok(program)
}

/// Returns the target triple of this machine.
pub(crate) fn triple() -> anyhow::Result<String> {
    match std::env::consts::ARCH {
        architecture @ ("x86_64" | "aarch64") => Ok(format!("{architecture}-unknown-linux-gnu")),
        other => bail!("no entrypoint is built for {other}"),
    }
}

/// Returns the arguments for cargo. `rustc` limits the linker flags to the program itself; the explicit
/// target keeps them away from build scripts.
pub(crate) fn arguments(triple: &str) -> Vec<&str> {
    let mut build = vec!["rustc", "--package", PACKAGE, "--release", "--target", triple, "--"];
    build.extend(["-C", "target-feature=+crt-static", "-C", "strip=symbols"]);
    build
}
