//! Builds programs from sources in release mode, and checks that nothing of them is older than the build.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::{entry, workspace};

/// The program that measures.
pub(super) const LOAD: &str = "greenroom-e2e";

/// Cargo selects the features of dependencies for all of these packages together, whichever programs it builds. Alone,
/// each package has other features, and most of what they share would be compiled three times: 922 units instead of 710.
/// The server's dependencies are those of a release, with a few functions of nix and reqwest more.
const PACKAGES: [&str; 3] = ["greenroom-server", "greenroom-runner", "greenroom-e2e"];

/// One call of cargo, and the programs that it builds.
pub(super) struct Step<'a> {
    pub(super) programs: Vec<&'static str>,
    pub(super) arguments: Vec<&'a str>,
}

/// The steps for what is measured.
pub(super) fn product(triple: &str) -> Vec<Step<'_>> {
    vec![
        step(&PACKAGES, &["greenroomd", "greenroom-runner"]),
        Step { programs: vec![entry::PACKAGE], arguments: entry::arguments(triple) },
    ]
}

pub(super) fn load() -> Vec<Step<'static>> {
    vec![step(&PACKAGES, &[LOAD])]
}

pub(super) fn step(packages: &[&'static str], programs: &[&'static str]) -> Step<'static> {
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let bins = programs.iter().flat_map(|program| ["--bin", program]);
    let arguments = ["build", "--release"].into_iter().chain(packages).chain(bins).collect();
    Step { programs: programs.to_vec(), arguments }
}

/// The files that were written by a build, to recognize what a later step of the same build takes from it.
#[derive(Default)]
pub(super) struct Build {
    written: HashSet<PathBuf>,
    /// The number of compiled units of the sources, and of others.
    pub(super) own_units: usize,
    pub(super) other_units: usize,
}

/// What cargo prints about a unit.
#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    filenames: Vec<PathBuf>,
    executable: Option<PathBuf>,
    fresh: bool,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
}

impl Build {
    /// Carries out a step and returns the paths of its programs.
    ///
    /// Cargo identifies a package of a workspace by its path within the workspace, and detects changes by the times of
    /// files, so it can take what was built from other sources for up to date. Nothing of the sources may therefore be
    /// older than this build. A build that is wrong in this respect fails.
    pub(super) fn run_step(
        &mut self,
        step: &Step<'_>,
        source: &Path,
        target: &Path,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let (subcommand, arguments) = step.arguments.split_first().context("a step without a command")?;
        let mut cargo = cargo(source, target, &[subcommand, "--message-format=json-render-diagnostics"]);
        let mut running =
            cargo.args(arguments).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
        let printed = running.stdout.take().context("cargo's messages cannot be read")?;
        let executables = self.read(printed);
        if executables.is_err() {
            running.kill().context("cargo cannot be ended")?;
        }
        let status = running.wait().context("cargo did not end")?;
        let executables = executables?;
        ensure!(status.success(), "cargo {} ended with {status}", step.arguments.join(" "));
        let built = |name: &&str| {
            let program =
                executables.iter().find(|path| path.file_name().is_some_and(|found| found == *name));
            program
                .cloned()
                .with_context(|| format!("cargo {} has not built {name}", step.arguments.join(" ")))
        };
        step.programs.iter().map(built).collect()
    }

    /// Reads cargo's messages to their end. Returns the programs that it has built.
    fn read(&mut self, printed: ChildStdout) -> anyhow::Result<Vec<PathBuf>> {
        let mut executables = Vec::new();
        for line in BufReader::new(printed).lines() {
            let line = line.context("cargo's messages cannot be read")?;
            if serde_json::from_str::<Message>(&line)?.reason == "compiler-artifact" {
                let artifact: Artifact =
                    serde_json::from_str(&line).context("cargo's messages have changed")?;
                self.check(&artifact)?;
                executables.extend(artifact.executable);
            }
        }
        Ok(executables)
    }

    fn check(&mut self, artifact: &Artifact) -> anyhow::Result<()> {
        let is_own = artifact.package_id.starts_with("path+");
        if artifact.fresh {
            let is_of_this_build = artifact.filenames.iter().all(|file| self.written.contains(file));
            if is_own && !is_of_this_build {
                bail!(
                    "{} was not compiled from these sources, although everything of an earlier build was removed: \
                     start again, while nothing else builds",
                    artifact.package_id
                );
            }
        } else {
            *(if is_own { &mut self.own_units } else { &mut self.other_units }) += 1;
            self.written.extend(artifact.filenames.iter().cloned());
        }
        Ok(())
    }
}

/// Removes what was built of the sources' own packages, for this machine and for the entrypoint's target.
pub(super) fn clean(source: &Path, target: &Path) -> anyhow::Result<()> {
    workspace::run(&mut cargo(source, target, &["clean", "--release", "--workspace"]))?;
    let triple = entry::triple()?;
    workspace::run(&mut cargo(source, target, &["clean", "--release", "--workspace", "--target", &triple]))
}

fn cargo(source: &Path, target: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(workspace::cargo_program());
    cargo.args(arguments).current_dir(source).env("CARGO_TARGET_DIR", target);
    // `cargo xtask` set the first two for this checkout; they are wrong for other sources. With other flags, programs
    // that are kept would differ from those of a next build.
    for variable in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        cargo.env_remove(variable);
    }
    cargo
}
