//! `fault verdicts`: failures of known causes are planted, and the verdicts and fingerprints of all of them are compared with
//! what was planted. Properties:
//!
//! - `V1` Of the verdicts, at least 95 % are right.
//! - `V2` No failure by an outage is called `yours`.
//! - `V3` Equal failures have the same fingerprint, for at least 95 % of the causes that are seen again.
//! - `V4` Different failures have different fingerprints, for all but 2 % of the causes.
//! - `V5` Of a step that prints 10 MB, the evidence can be read within a second after its end, by a release build.

mod case;
mod cause;
mod deployment;
mod evidence;
mod fixture;
mod image;
mod judge;
#[cfg(test)]
mod judge_tests;
mod options;
mod outage;
mod plan;
mod plants;
mod report;
mod team;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::verdicts::case::{CaseKind, Observation, Planted};
use crate::fault::verdicts::fixture::VerdictFixture;
use crate::fault::verdicts::judge::{Measured, judge};
pub(crate) use crate::fault::verdicts::options::Verdicts;
use crate::fault::verdicts::report::Report;
use crate::fault::verdicts::team::Team;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;

const TEAMS: usize = 5;

pub(crate) async fn run(options: Verdicts) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut interruption = Interruption::listen()?;
    let fixture = Arc::new(VerdictFixture::start(&options).await?);
    let outcome = interruption.or(campaign(&fixture, &options)).await;
    let fixture = Arc::try_unwrap(fixture).ok().context("a team still uses the stack")?;
    fixture.end(options.stack.keep).await?;
    let mut report = outcome?;
    report.seconds = started.elapsed().as_secs();
    report.finish(options.stack.json)
}

async fn campaign(fixture: &Arc<VerdictFixture>, options: &Verdicts) -> anyhow::Result<Report> {
    let planned = options.deployments as usize;
    let cases = plan::plan(planned, &mut StdRng::seed_from_u64(options.seed));
    let (planted, good_deployments) = play(fixture, &cases, options.seed).await?;
    fixture.settle().await?;
    let mut observations: Vec<Observation> = Vec::with_capacity(planted.len());
    for planted in planted {
        observations.push(fixture.observe(planted).await?);
    }
    let long_logs = if options.without_long_logs { Vec::new() } else { fixture.measure_long_logs().await? };
    let evidence_seconds = long_logs.iter().copied().max_by(f64::total_cmp);
    let is_release = !cfg!(debug_assertions);
    let (judgment, findings) = judge(&observations, Measured { planned, evidence_seconds, is_release });
    Ok(Report::new(options.seed, good_deployments, long_logs, judgment, findings))
}

/// Plays all cases. Returns the failures, and how many deployments have succeeded.
async fn play(
    fixture: &Arc<VerdictFixture>,
    cases: &[CaseKind],
    seed: u64,
) -> anyhow::Result<(Vec<Planted>, usize)> {
    let lost = cases.iter().filter(|kind| **kind == CaseKind::LostRunner).count();
    // It takes most of a minute until a runner counts as lost.
    let (of_lost_runner, of_teams) = tokio::try_join!(
        Box::pin(outage::lose_runner(fixture, lost)),
        Box::pin(play_teams(fixture, cases, seed)),
    )?;
    let (mut planted, good) = of_teams;
    planted.extend(of_lost_runner);
    Ok((planted, good))
}

async fn play_teams(
    fixture: &Arc<VerdictFixture>,
    cases: &[CaseKind],
    seed: u64,
) -> anyhow::Result<(Vec<Planted>, usize)> {
    let of_teams: Vec<CaseKind> = cases.iter().copied().filter(|kind| kind.is_of_one_team()).collect();
    print_progress(&format!("{} cases of {TEAMS} teams, changed images, a lost runner", of_teams.len()));
    let mut running = JoinSet::new();
    for number in 0..TEAMS {
        let fixture = Arc::clone(fixture);
        let cases: Vec<CaseKind> = of_teams.iter().copied().skip(number).step_by(TEAMS).collect();
        running.spawn(async move {
            let mut team = Team::start(&fixture, number, seed).await?;
            for kind in cases {
                team.play(kind).await.with_context(|| format!("{kind:?} of {}", team.pipeline))?;
            }
            anyhow::Ok(team)
        });
    }
    let images = cases.iter().filter(|kind| **kind == CaseKind::Image).count();
    let mut planted = image::play(fixture, images).await?;
    let mut good = planted.len();
    let mut teams = Vec::new();
    while let Some(joined) = running.join_next().await {
        teams.push(joined.context("a team broke the harness")??);
    }
    teams.sort_by(|one, other| one.pipeline.cmp(&other.pipeline));
    let outages: Vec<CaseKind> = cases.iter().copied().filter(|kind| kind.is_outage()).collect();
    print_progress(&format!("{} outages", outages.len()));
    for kind in outages {
        outage::play(&mut teams, kind).await?;
    }
    good += teams.iter().map(|team| team.good).sum::<usize>();
    planted.extend(teams.into_iter().flat_map(|team| team.planted));
    Ok((planted, good))
}
