//! `cargo xtask hostile`: adds step registries that attack their reader to a running Greenroom, one after the other. Each
//! has to be refused with its reason where users see it, in bounded time and memory. A registry without an attack, which
//! has to be accepted, is the control.

mod attempt;
mod fixture;
mod memory;
mod options;
mod report;

use std::process::ExitCode;

use greenroom_hostile_registries::{HostileRegistry, all};

pub(crate) use self::options::Hostile;
use crate::hostile::attempt::Attempt;
use crate::hostile::fixture::HostileFixture;
use crate::hostile::report::Report;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

pub(crate) async fn run(options: Hostile) -> anyhow::Result<ExitCode> {
    match campaign(&options).await {
        Ok(report) => {
            report.print(options.json)?;
            Ok(report.exit_code())
        }
        // A run that could not be carried out must not be taken for one that found something.
        Err(error) => {
            print_progress(&format!("{error:#}"));
            Ok(ExitCode::from(2))
        }
    }
}

async fn campaign(options: &Hostile) -> anyhow::Result<Report> {
    let mut interruption = Interruption::listen()?;
    let fixture = HostileFixture::start(options).await?;
    let result = interruption.or(attack(&fixture, options)).await;
    fixture.end().await?;
    result
}

async fn attack(fixture: &HostileFixture, options: &Hostile) -> anyhow::Result<Report> {
    let digest = attempt::control(fixture).await?;
    let (mut report, stalls) = (Report::default(), StallDetector::start()?);
    for registry in all().iter().filter(|registry| options.selects(registry)) {
        let result = Attempt { fixture, registry, digest: &digest, stalls: &stalls }.run().await?;
        print_progress(&result.to_string());
        report.results.push(result);
    }
    Ok(report)
}

impl Hostile {
    fn selects(&self, registry: &HostileRegistry) -> bool {
        let is_named = self.names.is_empty() || self.names.iter().any(|name| registry.name.contains(name));
        is_named && (registry.in_ci || !self.quick)
    }
}
