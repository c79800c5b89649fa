//! End-to-end programs for Greenroom: they test it, measure it and inject faults. Run by `cargo xtask e2e`,
//! `cargo xtask bench …` and `cargo xtask fault …`.

mod bench;
mod canary;
mod corpus;
mod drill;
#[cfg(test)]
mod example_steps;
mod fault;
mod hostile;
mod id_tokens;
mod parts;
mod scenarios;
mod search;
mod second_installation;
mod stack;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "greenroom-e2e", about = "Greenroom, tried from outside")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure performance as ratios against bare baselines.
    Bench {
        #[command(subcommand)]
        what: bench::Bench,
    },
    /// Print secrets in many forms, and search everything for them. Exit code 1: found; 2: not carried out; 3:
    /// the run proves nothing.
    Canary(canary::Canary),
    /// The corpus of failures that `bench analysis` reads.
    Corpus {
        #[command(subcommand)]
        what: corpus::Corpus,
    },
    /// Rehearse what an operator does with an installation that is in use.
    Drill {
        #[command(subcommand)]
        what: drill::Drill,
    },
    /// Inject faults, and check what must hold nevertheless.
    Fault {
        #[command(subcommand)]
        what: fault::Fault,
    },
    /// Add step registries that attack their reader. Exit code 1: one was not refused, or took too long or too much
    /// memory; 2: not carried out.
    Hostile(hostile::Hostile),
    /// Exchange a step's id tokens at a real relying party. Exit code 1: accepted or refused wrongly; 2: not
    /// carried out.
    IdTokens(id_tokens::IdTokens),
    /// Deployments from end to end, as defined in e2e/scenarios.
    Scenarios(scenarios::Scenarios),
    /// Two installations in one Temporal namespace, which must not touch each other's workflows.
    SecondInstallation(second_installation::SecondInstallation),
    /// The bare handler that `bench api` measures against.
    #[command(hide = true)]
    BareApi(bench::bare::BareApi),
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Bench { what } => return bench::run(what).await,
        Command::BareApi(arguments) => bench::bare::serve(arguments).await?,
        Command::Canary(options) => return Box::pin(canary::run(options)).await,
        Command::Corpus { what } => return Ok(Box::pin(corpus::run(what)).await),
        Command::Drill { what } => return Box::pin(drill::run(what)).await,
        Command::Fault { what } => return fault::run(what).await,
        Command::Hostile(options) => return Box::pin(hostile::run(options)).await,
        Command::IdTokens(options) => return Box::pin(id_tokens::run(options)).await,
        Command::SecondInstallation(options) => return Box::pin(second_installation::run(options)).await,
        Command::Scenarios(options) => return Box::pin(scenarios::run(options)).await,
    }
    Ok(ExitCode::SUCCESS)
}
