//! `cargo xtask canary`: steps print secrets with awkward values in many forms, cut in two at every place, and
//! everything that the system stores, logs or returns is searched for them. A control run prints the same without
//! having the secrets, so that nothing is masked: the search must find it there, or its silence proves nothing.

mod control;
mod deployment;
mod fixture;
mod observer;
mod options;
mod print;
mod report;
mod sinks;

use std::process::ExitCode;
use std::time::Instant;

pub(crate) use self::options::Canary;
use crate::canary::fixture::CanaryFixture;
use crate::canary::observer::Observer;
use crate::canary::report::Report;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
use crate::search::{Needles, values};

pub(crate) async fn run(options: Canary) -> anyhow::Result<ExitCode> {
    match campaign(&options).await {
        Ok(report) => {
            report.print(options.json)?;
            Ok(report.exit_code())
        }
        // A campaign that could not be carried out must not be taken for one that found something.
        Err(error) => {
            print_progress(&format!("{error:#}"));
            Ok(ExitCode::from(2))
        }
    }
}

async fn campaign(options: &Canary) -> anyhow::Result<Report> {
    let started = Instant::now();
    let secrets = values::make(options.secrets);
    let prints = print::plan(&secrets, options.prints);
    let mut needles = Needles::of(&secrets);
    let mut interruption = Interruption::listen()?;
    let mut fixture = CanaryFixture::start(options, &prints).await?;
    needles.add_key(&fixture.parts.master_key()?);
    let result = interruption.or(search_everything(&mut fixture, &secrets, &prints, &needles)).await;
    fixture.end(options.keep).await?;
    let mut report = result?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

async fn search_everything(
    fixture: &mut CanaryFixture,
    secrets: &[values::CanarySecret],
    prints: &[print::Print],
    needles: &Needles,
) -> anyhow::Result<Report> {
    fixture.create_secrets(secrets).await?;
    let errors = fixture.provoke_errors(secrets).await?;
    print_progress(&format!("{} prints of {} secrets", prints.len(), secrets.len()));
    let deployment = fixture.deploy(fixture::PIPELINE).await?;
    let observed = Observer::of(fixture, &deployment).watch(needles).await?;
    print_progress("searching");
    let mut report = Report::new(prints.len(), secrets.len());
    report.add_all(observed);
    report.add("errorTexts", needles.search(&errors));
    report.add_all(sinks::collect(fixture, &deployment, needles).await?);
    print_progress("control: the same prints, which nothing masks");
    report.control = control::found(fixture, prints).await?;
    Ok(report)
}
