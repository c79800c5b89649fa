//! `cargo xtask bench compare`: builds two revisions in release mode, each in its own target folder, and
//! measures them in alternating pairs with this checkout's e2e program. Both target folders are kept for the
//! next comparison.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use crate::workspace::{self, Workspace};
use crate::{entry, fault, output};

const PROGRAMS: [&str; 2] = ["greenroomd", "greenroom-runner"];

#[derive(Args)]
pub(crate) struct Options {
    /// The revision to compare with, in any form that git accepts
    #[arg(long)]
    baseline: String,
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Number of pairs of runs per benchmark
    #[arg(long, default_value_t = 10)]
    pairs: u64,
    /// Only this benchmark
    #[arg(long, value_enum)]
    only: Option<Benchmark>,
    /// More arguments for the program, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Benchmark {
    Api,
    Locks,
    Engine,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let root = &workspace.workspace_root;
    let commit = commit(root, &options.baseline)?;
    let folder = folder()?;
    let (new, baseline) = (folder.join("new"), folder.join("baseline"));
    let kept = folder.join("programs").join(&commit);
    if kept.join(entry::PACKAGE).is_file() {
        output::progress(format_args!("the baseline {commit} was built before: {}", kept.display()));
    } else {
        let checkout = Checkout::make(root, &commit)?;
        collect(&build(&checkout.path, &baseline)?, &kept)?;
    }
    let programs = folder.join("programs").join("new");
    collect(&build(root, &new)?, &programs)?;
    cargo(root, &new, &["build", "--release", "--package", "greenroom-e2e"])?;
    let mut measuring = Command::new(new.join("release").join("greenroom-e2e"));
    measuring.args(["bench", "compare", "--pairs", &options.pairs.to_string()]).current_dir(root);
    measuring.arg("--new-dir").arg(&programs).arg("--baseline-dir").arg(&kept);
    if let Some(name) = options.only.and_then(|only| only.to_possible_value()) {
        measuring.args(["--only", name.get_name()]);
    }
    measuring.args(&options.rest);
    fault::run_program(measuring, &[("--json", options.json)])
}

/// Returns the full commit id of a revision.
fn commit(root: &Path, revision: &str) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")])
        .current_dir(root);
    Ok(workspace::output(&mut git)?.trim().to_owned())
}

/// Returns the cache folder for builds of comparisons, outside the checkout.
fn folder() -> anyhow::Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    Ok(cache.context("neither XDG_CACHE_HOME nor HOME is set")?.join("greenroom").join("compare"))
}

/// Builds a checkout's programs and returns their paths.
fn build(checkout: &Path, target: &Path) -> anyhow::Result<Vec<PathBuf>> {
    output::progress(format_args!("building {} in release mode", checkout.display()));
    // One package per build: a joint build unifies features, and each set of features compiles Temporal's SDK
    // again.
    for package in ["greenroom-server", "greenroom-runner"] {
        cargo(checkout, target, &["build", "--release", "--package", package])?;
    }
    let triple = entry::triple()?;
    cargo(checkout, target, &entry::arguments(&triple))?;
    let mut built: Vec<PathBuf> =
        PROGRAMS.iter().map(|program| target.join("release").join(program)).collect();
    built.push(target.join(triple).join("release").join(entry::PACKAGE));
    Ok(built)
}

fn cargo(checkout: &Path, target: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let mut cargo = Command::new(workspace::cargo_program());
    cargo.args(arguments).current_dir(checkout).env("CARGO_TARGET_DIR", target);
    // `cargo xtask` set these for this checkout; they are wrong for another one.
    cargo.env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_MANIFEST_PATH");
    workspace::run(&mut cargo)
}

/// Copies the programs into a folder, in order: a folder that contains the last one is complete.
fn collect(programs: &[PathBuf], folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for program in programs {
        let name = program.file_name().with_context(|| format!("{} has no name", program.display()))?;
        // Copy under a temporary name first, so that an interrupted copy is not mistaken for the program.
        let partial = folder.join("part");
        std::fs::copy(program, &partial).with_context(|| format!("{} was not built", program.display()))?;
        std::fs::rename(&partial, folder.join(name))?;
    }
    Ok(())
}

/// A git worktree in a temporary folder, removed at the end.
struct Checkout {
    root: PathBuf,
    path: PathBuf,
}

impl Checkout {
    fn make(root: &Path, commit: &str) -> anyhow::Result<Self> {
        let name = format!("greenroom-compare-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        if path.exists() {
            bail!("{} already exists; remove it", path.display());
        }
        let mut git = Command::new("git");
        git.args(["worktree", "add", "--quiet", "--detach"]).arg(&path).arg(commit).current_dir(root);
        workspace::run(&mut git)?;
        Ok(Self { root: root.to_owned(), path })
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let mut git = Command::new("git");
        git.args(["worktree", "remove", "--force"]).arg(&self.path).current_dir(&self.root);
        if let Err(error) = workspace::run(&mut git) {
            output::progress(format_args!("cannot remove the baseline's checkout: {error:#}"));
        }
    }
}
