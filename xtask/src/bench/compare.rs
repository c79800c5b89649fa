//! `cargo xtask bench compare`: builds two revisions in release mode and measures them in alternating pairs with
//! this checkout's e2e program. Dependencies are compiled once for both, and programs are kept by the contents of
//! the sources that they were built from.

mod build;
mod cache;
mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Args, ValueEnum};

use self::cache::ProgramCache;
use self::source::Tree;
use crate::workspace::Workspace;
use crate::{entry, fault, output};

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
    let mut cache = ProgramCache::open(root, &folder()?)?;
    let baseline = Tree::of_revision(root, &options.baseline)?;
    let new = Tree::of_checkout(root, &cache.folder().join("index"))?;
    let triple = entry::triple()?;
    let product = build::product(&triple);
    let baseline = cache.find_or_build(&baseline, "product", &product)?;
    let programs = cache.find_or_build(&new, "product", &product)?;
    let load = cache.find_or_build(&new, "load", &build::load())?;
    // Programs that are kept are never written again.
    drop(cache);
    let mut measuring = Command::new(load.join(build::LOAD));
    measuring.args(["bench", "compare", "--pairs", &options.pairs.to_string()]).current_dir(root);
    measuring.arg("--new-dir").arg(&programs).arg("--baseline-dir").arg(&baseline);
    if let Some(name) = options.only.and_then(|only| only.to_possible_value()) {
        measuring.args(["--only", name.get_name()]);
    }
    measuring.args(&options.rest);
    fault::run_program(measuring, &[("--json", options.json)])
}

/// Builds the product of a revision in release mode, or finds what was built of it before. Returns the folder of its programs.
pub(crate) fn build_revision(workspace: &Workspace, revision: &str) -> anyhow::Result<PathBuf> {
    let root = &workspace.workspace_root;
    let mut cache = ProgramCache::open(root, &folder()?)?;
    cache.find_or_build(&Tree::of_revision(root, revision)?, "product", &build::product(&entry::triple()?))
}

/// Returns the cache folder for builds of comparisons, outside the checkout.
fn folder() -> anyhow::Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let folder = cache.context("neither XDG_CACHE_HOME nor HOME is set")?.join("greenroom").join("compare");
    output::progress(format_args!("builds are in {}", folder.display()));
    Ok(folder)
}
