//! Faults: the real system under load while its parts are killed, stopped, cut off and given wrong clocks; and a checker
//! that judges what the clients were told, and what the database says, by the properties that a lock must have.

mod authority;
mod chapter;
mod check;
mod client;
mod clock;
mod deck;
mod deployments;
mod faults;
mod finding;
mod handover;
mod history;
mod ledger;
mod locks;
mod options;
mod overload;
mod progress;
mod report;
mod settle;
mod stack;
mod target;
mod world;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Fault {
    /// Claims, queues, forces, renewals and releases, under faults; exit code 1 for violations, 3 for a void run, 4
    /// if the system clock was stepped meanwhile.
    Locks(options::Locks),
    /// Deployments from their acceptance to their last step, under faults; the same exit codes.
    Deployments(deployments::Deployments),
    /// A hostile organization attacks while another one works; the same exit codes.
    Overload(overload::Overload),
    /// The attacker of `overload`.
    #[command(hide = true)]
    Attacker(overload::Attacker),
}

pub(crate) async fn run(what: Fault) -> anyhow::Result<ExitCode> {
    let outcome = match what {
        Fault::Locks(options) => locks::run(options).await,
        Fault::Deployments(options) => Box::pin(deployments::run(options)).await,
        Fault::Overload(options) => Box::pin(overload::run(options)).await,
        Fault::Attacker(arguments) => overload::run_attacker(arguments).await.map(|()| ExitCode::SUCCESS),
    };
    // A campaign that could not be carried out must not be taken for one that found something.
    outcome.or_else(|error| {
        crate::parts::say::say(&format!("{error:#}"));
        Ok(ExitCode::from(2))
    })
}
