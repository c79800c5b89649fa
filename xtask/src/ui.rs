//! `cargo xtask ui`: builds the dashboard, checks it, and tests it in a browser against the whole stack.

mod browser;
mod node;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Args, Subcommand};

use crate::output;
use crate::workspace::{self, Workspace};
use node::Node;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    target: Option<Target>,
    #[command(flatten)]
    run: browser::Options,
}

#[derive(Subcommand)]
enum Target {
    /// Builds the dashboard into dashboard/dist, from which the server embeds it
    Build,
    /// Checks the dashboard without a browser: generated types, compiler, linter, formatter, tests, build, sizes
    Check,
    /// Takes pictures of every screen of the demo, wide and narrow, light and dark
    Shots {
        /// The folder for the pictures
        #[arg(default_value = "dashboard/test-results/shots")]
        folder: PathBuf,
        #[command(flatten)]
        run: browser::Options,
    },
    /// Measures a board with 500 environments, large logs, and every screen with a slower processor
    Perf {
        #[command(flatten)]
        run: browser::Options,
    },
}

/// Exit code 0: all passed; 1: some failed, or it was not carried out.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let node = Node::install(&workspace.workspace_root.join("dashboard"))?;
    match &options.target {
        Some(Target::Build) => {
            build(&node)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Target::Check) => {
            check(workspace, &node)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Target::Shots { folder, run }) => {
            build_for(&node, run)?;
            let folder = workspace.workspace_root.join(folder);
            output::progress(format_args!("pictures: {}", folder.display()));
            let variables = [("GREENROOM_SHOTS", folder.into_os_string())];
            browser::run(workspace, &node, run, &["e2e/shots.spec.ts"], &variables)
        }
        Some(Target::Perf { run }) => {
            build_for(&node, run)?;
            let variables = [("GREENROOM_PERF", OsString::from("1"))];
            browser::run(workspace, &node, run, &["e2e/perf"], &variables)
        }
        None => {
            build_for(&node, &options.run)?;
            browser::run(workspace, &node, &options.run, &[], &[])
        }
    }
}

/// Builds the dashboard, for packages.
pub(crate) fn build_dashboard(workspace: &Workspace) -> anyhow::Result<()> {
    build(&Node::install(&workspace.workspace_root.join("dashboard"))?)
}

/// Returns the dashboard's dependencies in the format CycloneDX.
pub(crate) fn bill(workspace: &Workspace) -> anyhow::Result<String> {
    let node = Node::install(&workspace.workspace_root.join("dashboard"))?;
    workspace::output(&mut node.npm(&[
        "sbom",
        "--sbom-format",
        "cyclonedx",
        "--omit",
        "dev",
        "--package-lock-only",
    ]))
}

fn build_for(node: &Node, run: &browser::Options) -> anyhow::Result<()> {
    if run.built { Ok(()) } else { build(node) }
}

fn build(node: &Node) -> anyhow::Result<()> {
    workspace::run(&mut node.npm(&["run", "build"]))?;
    workspace::run(&mut node.npm(&["run", "sizes"]))
}

fn check(workspace: &Workspace, node: &Node) -> anyhow::Result<()> {
    node.install_packages("codegen")?;
    workspace::run(&mut node.npm(&["run", "codegen"]))?;
    let mut git = Command::new("git");
    git.args(["diff", "--exit-code", "--stat", "--", "dashboard/src/api/schema.gen.ts"]);
    workspace::run(git.current_dir(&workspace.workspace_root))?;
    for script in ["lint", "test"] {
        workspace::run(&mut node.npm(&["run", script]))?;
    }
    build(node)
}
