//! Development tasks: commands for developers and CI that are not part of the product.
//! Depends on no crate of the workspace, so that it works while those do not compile.

mod bench;
mod canary;
mod corpus;
mod drill;
mod e2e;
mod entry;
mod fault;
mod hostile;
mod id_tokens;
mod openapi;
mod output;
mod package;
mod processor_time;
mod program_options;
mod release_gate;
mod ui;
mod walls;
mod words;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "Greenroom's development tasks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Checks every Cargo.toml against the tables in docs/architecture.md
    CheckWalls,
    /// Checks comments, log texts and identifiers against the vocabulary in CONTRIBUTING.md
    CheckWords,
    /// Writes openapi/api.json from the server's code
    Openapi {
        /// Write nothing: fail if the file differs from the code
        #[arg(long)]
        check: bool,
        /// Write nothing: list what breaks a client since a git revision of the file, and fail if a change is not named
        /// in openapi/breaking.md
        #[arg(long, value_name = "REV", conflicts_with = "check")]
        compare: Option<String>,
        /// With --compare: print a JSON object, with additions too
        #[arg(long, requires = "compare")]
        json: bool,
    },
    /// Builds in release mode and runs a benchmark
    Bench {
        #[command(subcommand)]
        target: bench::Target,
    },
    /// Builds the programs, lets steps print secrets in many forms, and searches everything for them. Exit code
    /// 0: nothing found; 1: found; 2: not carried out; 3: void
    Canary(canary::Options),
    /// Builds the programs and runs the corpus of failures
    Corpus {
        #[command(subcommand)]
        target: corpus::Target,
    },
    /// Builds the programs, and rehearses an upgrade or a restore under load, or measures what each part needs at rest.
    /// Exit codes as of `fault`
    Drill {
        #[command(subcommand)]
        target: drill::Target,
    },
    /// Builds the runner's static entrypoint and prints its path
    Entry,
    /// Builds the programs and runs e2e's scenarios. Exit code 0: all passed; 1: some failed; 2: not carried
    /// out
    E2e(e2e::Options),
    /// Builds the programs and runs e2e's fault campaigns: load while components fail
    Fault {
        #[command(subcommand)]
        target: fault::Target,
    },
    /// Builds the programs, and adds step registries that attack their reader. Exit code 0: all refused; 1: one was not,
    /// or took more than 90 s or 64 MiB; 2: not carried out
    Hostile(hostile::Options),
    /// Builds the programs, and lets a step exchange its id tokens at a real relying party. Exit code 0: accepted
    /// and refused as they have to be; 1: not; 2: not carried out
    IdTokens(id_tokens::Options),
    /// Builds what is shipped: archives, Debian packages, images, sums and a signature
    Package(package::Options),
    /// Runs everything that must hold before a release; takes several hours. Exit code 0: all passed
    ReleaseGate(release_gate::Options),
    /// Builds the dashboard and tests it in a browser against a demo stack. Exit code 0: all passed
    Ui(ui::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            output::progress(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::read()?;
    match task {
        Task::CheckWalls => walls::check(&workspace)?,
        Task::CheckWords => words::check(&workspace)?,
        Task::Openapi { compare: Some(revision), json, .. } => {
            openapi::run_comparison(&workspace, &revision, json)?;
        }
        Task::Openapi { check, .. } => openapi::run(&workspace, check)?,
        Task::Bench { target } => return bench::run(&workspace, &target),
        Task::Canary(options) => return canary::run(&workspace, &options),
        Task::Corpus { target } => return corpus::run(&workspace, &target),
        Task::Drill { target } => return drill::run(&workspace, &target),
        Task::Entry => entry::run(&workspace)?,
        Task::E2e(options) => return e2e::run(&workspace, &options),
        Task::Fault { target } => return fault::run(&workspace, &target),
        Task::Hostile(options) => return hostile::run(&workspace, &options),
        Task::IdTokens(options) => return id_tokens::run(&workspace, &options),
        Task::Package(options) => return package::run(&workspace, &options),
        Task::ReleaseGate(options) => return release_gate::run(&workspace, &options),
        Task::Ui(options) => return ui::run(&workspace, &options),
    }
    Ok(ExitCode::SUCCESS)
}
