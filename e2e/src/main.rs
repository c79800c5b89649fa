//! Greenroom tried from outside: the programs that measure it. `cargo xtask bench …` runs them.

mod bench;
mod stack;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "greenroom-e2e", about = "Greenroom, measured from outside")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure as ratios against the bare engine.
    Bench {
        #[command(subcommand)]
        what: bench::Bench,
    },
    /// The bare handler that `bench api` measures against.
    #[command(hide = true)]
    BareApi(bench::bare::BareApi),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Bench { what } => bench::run(what).await,
        Command::BareApi(arguments) => bench::bare::serve(arguments).await,
    }
}
