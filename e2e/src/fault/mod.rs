//! Fault campaigns: the real system under load while its parts are killed, stopped, cut off and given wrong
//! clocks. A checker judges the responses to the clients and the contents of the database by the properties
//! that a lock must have.

mod campaign_report;
mod check;
mod client;
mod clock;
mod deployments;
mod fault_schedule;
mod faults;
mod finding;
mod fixes;
mod fixture;
mod gates;
mod handover;
mod history;
mod key_rotation;
mod ledger;
mod locks;
mod options;
mod outages;
mod overload;
mod progress;
mod provenance;
mod report;
mod rights_changer;
mod round;
mod settle;
mod stack;
mod stack_options;
mod steps;
mod target;
mod tls;
mod verdicts;

use std::process::ExitCode;

use clap::Subcommand;

pub(crate) use crate::fault::deployments::options::CampaignOptions;
pub(crate) use crate::fault::deployments::{Deployments, Disturbance, run_with as run_deployments};

#[derive(Debug, Subcommand)]
pub(crate) enum Fault {
    /// Claims, queues, forces, renewals and releases under faults. Exit code 1 for violations, 3 for a void
    /// run, 4 if the system clock was stepped during the run.
    Locks(options::Locks),
    /// Deployments from acceptance to the last step, under faults. Same exit codes.
    Deployments(deployments::Deployments),
    /// Deployments into lasting environments, with holds, freezes and rollbacks, under faults. Same exit codes.
    Gates(gates::Gates),
    /// A hostile organization attacks while another one works. Same exit codes.
    Overload(overload::Overload),
    /// The master key of secrets is replaced while steps read them. Same exit codes.
    KeyRotation(key_rotation::KeyRotation),
    /// Deployments of locked pipelines while the registry of their steps moves a tag and dies. Same exit codes.
    Steps(steps::Steps),
    /// Failures of known causes, and what Greenroom finds out about them. Same exit codes.
    Verdicts(verdicts::Verdicts),
    /// Fixes of failures, while what they need is killed. Same exit codes.
    Fixes(fixes::Fixes),
    /// Hostile runners of low pools leave what higher pools must not get. Same exit codes.
    Provenance(provenance::Provenance),
    /// Floods of a server's TLS port while another client works. Same exit codes.
    Tls(tls::Tls),
    /// The attacker process of `overload`.
    #[command(hide = true)]
    Attacker(overload::Attacker),
}

pub(crate) async fn run(what: Fault) -> anyhow::Result<ExitCode> {
    let outcome = match what {
        Fault::Locks(options) => locks::run(options).await,
        Fault::Deployments(options) => Box::pin(deployments::run(options)).await,
        Fault::Gates(options) => Box::pin(gates::run(options)).await,
        Fault::Overload(options) => Box::pin(overload::run(options)).await,
        Fault::KeyRotation(options) => Box::pin(key_rotation::run(options)).await,
        Fault::Steps(options) => Box::pin(steps::run(options)).await,
        Fault::Verdicts(options) => Box::pin(verdicts::run(options)).await,
        Fault::Fixes(options) => Box::pin(fixes::run(options)).await,
        Fault::Provenance(options) => Box::pin(provenance::run(options)).await,
        Fault::Tls(options) => Box::pin(tls::run(options)).await,
        Fault::Attacker(arguments) => overload::run_attacker(arguments).await.map(|()| ExitCode::SUCCESS),
    };
    not_carried_out(outcome)
}

/// A campaign that could not be carried out must not be taken for one that found violations.
pub(crate) fn not_carried_out(outcome: anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    outcome.or_else(|error| {
        crate::parts::output::print_progress(&format!("{error:#}"));
        Ok(ExitCode::from(2))
    })
}
