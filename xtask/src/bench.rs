//! `cargo xtask bench`: builds the programs in release mode and runs e2e's benchmarks, and the runner's own.

mod builds;
mod compare;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Args, Subcommand};

pub(crate) use self::compare::build_revision;
use crate::fault::run_program;
use crate::workspace::{self, Workspace};
use crate::{entry, output};

#[derive(Subcommand)]
pub(crate) enum Target {
    /// How often the decisive line of a failure is shown, on the kept logs of e2e/corpus, and what injections into a model's
    /// prompt achieve. Exit code 0: all bars are met; 1: not. With `--model`: what a model makes of the same failures. Exit code
    /// 0: the protocol has worked, however good the model is
    Analysis(AnalysisOptions),
    /// The API compared with the bare database and a bare handler
    Api(Options),
    /// How long a build takes after a small change, and how long the tests of each crate take. The tests need
    /// `DATABASE_URL`
    Builds(builds::Options),
    /// Claims and releases compared with bare SQL, with a long history, and with many watchers
    Locks(Options),
    /// This checkout compared with an earlier revision. Exit code 0: not slower; 1: slower; 2: not carried
    /// out
    Compare(compare::Options),
    /// Deployments compared with bare Temporal and `podman run`, start latency and log throughput
    Deployments(DeploymentOptions),
    /// How fast logs are masked, with many secrets and in small pieces
    Masker(Options),
}

#[derive(Args)]
pub(crate) struct Options {
    /// Print only the program's JSON object on stdout
    #[arg(long)]
    json: bool,
    /// More arguments for the program, after `--`
    #[arg(last = true)]
    rest: Vec<String>,
}

#[derive(Args)]
pub(crate) struct AnalysisOptions {
    /// Measure the model of this endpoint. If it needs a key, that is read from the environment variable GREENROOM_MODEL_KEY
    #[arg(long, value_name = "URL")]
    model: Option<String>,
    /// The provider's name of the model
    #[arg(long, value_name = "NAME", requires = "model")]
    model_name: Option<String>,
    /// `openai` or `anthropic`
    #[arg(long, requires = "model")]
    protocol: Option<String>,
    /// How many cases of the corpus the model gets
    #[arg(long, value_name = "N", requires = "model")]
    cases: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(crate) struct DeploymentOptions {
    /// Take the programs from this folder instead of building them
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(workspace: &Workspace, target: &Target) -> anyhow::Result<ExitCode> {
    match target {
        Target::Analysis(options) => return analysis(workspace, options),
        Target::Api(options) => against_the_database(workspace, "api", options)?,
        Target::Builds(options) => builds::run(workspace, options)?,
        Target::Locks(options) => against_the_database(workspace, "locks", options)?,
        Target::Deployments(options) => deployments(workspace, options)?,
        Target::Masker(options) => masker(workspace, options)?,
        Target::Compare(options) => {
            return compare::run(workspace, options).or_else(|error| {
                output::progress(format_args!("{error:#}"));
                Ok(ExitCode::from(2))
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn against_the_database(workspace: &Workspace, name: &str, options: &Options) -> anyhow::Result<()> {
    let build = ["build", "--release", "-p", "greenroom-server", "-p", "greenroom-e2e"];
    workspace::run(&mut workspace.cargo(&build))?;
    workspace::run(&mut program(workspace, name, options))
}

fn deployments(workspace: &Workspace, options: &DeploymentOptions) -> anyhow::Result<()> {
    let build = |packages: &[&str]| {
        let arguments = packages.iter().flat_map(|package| ["-p", package]);
        let arguments: Vec<&str> = ["build", "--release"].into_iter().chain(arguments).collect();
        workspace::run(&mut workspace.cargo(&arguments))
    };
    build(&["greenroom-e2e"])?;
    let mut program = program(workspace, "deployments", &options.options);
    match &options.bin_dir {
        Some(folder) => program.arg("--bin-dir").arg(folder),
        None => {
            // These two use Temporal's SDK with the same features; a build with any other package would
            // compile it again.
            build(&["greenroom-server", "greenroom-bare-engine"])?;
            build(&["greenroom-runner"])?;
            program.arg("--entry").arg(entry::build(workspace)?)
        }
    };
    workspace::run(&mut program)
}

fn analysis(workspace: &Workspace, options: &AnalysisOptions) -> anyhow::Result<ExitCode> {
    workspace::run(&mut workspace.cargo(&["build", "--release", "-p", "greenroom-e2e"]))?;
    let mut program = program(workspace, "analysis", &options.options);
    for (name, value) in [
        ("--model", &options.model),
        ("--model-name", &options.model_name),
        ("--protocol", &options.protocol),
        ("--cases", &options.cases),
    ] {
        if let Some(value) = value {
            program.arg(name).arg(value);
        }
    }
    run_program(program, &[])
}

/// Runs the benchmark that is part of the runner's crate, because e2e must not depend on it.
fn masker(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let mut bench = workspace.cargo(&["bench", "--package", "greenroom-runner", "--bench", "masker", "--"]);
    if options.json {
        bench.arg("--json");
    }
    workspace::run(bench.args(&options.rest))
}

fn program(workspace: &Workspace, name: &str, options: &Options) -> Command {
    let mut program = Command::new(workspace.target_directory.join("release").join("greenroom-e2e"));
    program.args(["bench", name]).current_dir(&workspace.workspace_root);
    if options.json {
        program.arg("--json");
    }
    program.args(&options.rest);
    program
}
