//! Greenroom's chores: what a developer and CI run that is no part of the product.
//! Depends on no crate of the workspace, so that it works while they do not compile.

mod bench;
mod e2e;
mod entry;
mod fault;
mod openapi;
mod say;
mod sqlx;
mod walls;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "Greenroom's chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Holds every Cargo.toml against the tables in docs/architecture.md
    CheckWalls,
    /// Keeps .sqlx, the saved answers that let sqlx check queries without a database
    Sqlx {
        #[command(subcommand)]
        action: sqlx::Action,
    },
    /// Writes openapi/api.json from the server's code
    Openapi {
        /// Only compares: fails if the file is not what the code says
        #[arg(long)]
        check: bool,
    },
    /// Builds in release and runs a benchmark of e2e
    Bench {
        #[command(subcommand)]
        target: bench::Target,
    },
    /// Builds the runner's static entrypoint, and says where it is
    Entry,
    /// Builds, and lets e2e play the scenarios. Exit code 0: all passed; 1: some failed; 2: not carried out
    E2e(e2e::Options),
    /// Builds, and lets e2e try the daemon under load while its parts fail
    Fault {
        #[command(subcommand)]
        target: fault::Target,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(code) => code,
        Err(error) => {
            say::progress(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::read()?;
    match chore {
        Chore::CheckWalls => walls::check(&workspace)?,
        Chore::Sqlx { action } => sqlx::run(&workspace, action)?,
        Chore::Openapi { check } => openapi::run(&workspace, check)?,
        Chore::Bench { target } => return bench::run(&workspace, &target),
        Chore::Entry => entry::run(&workspace)?,
        Chore::E2e(options) => return e2e::run(&workspace, &options),
        Chore::Fault { target } => return fault::run(&workspace, &target),
    }
    Ok(ExitCode::SUCCESS)
}
