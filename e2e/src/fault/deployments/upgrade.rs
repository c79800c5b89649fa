//! `drill upgrade`: the parts of the stack are replaced by newer programs, one after the other, while clients deploy and others
//! claim, read and release. At the end the newest migration is to be reverted while it is in use, which has to be refused.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use crate::fault::deployments::fault_driver::{DriverResult, FaultDriver};
use crate::fault::deployments::stack::Stack;
use crate::fault::deployments::steady_load::{LoadFigures, SteadyLoad};
use crate::fault::deployments::work::Work;
use crate::fault::finding::Finding;
use crate::parts::output::print_progress;
use crate::parts::programs::{Programs, admin};

/// How long to wait for a step that is at work when a part is replaced.
const WORK_TIMEOUT: Duration = Duration::from_secs(30);

/// In this order an operator replaces them (docs/upgrade.md).
#[derive(Clone, Copy, Debug)]
enum Part {
    Schema,
    Server(usize),
    Worker(usize),
    Runner(usize),
    RevertedSchema,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpgradeFigures {
    replaced: Vec<Replaced>,
    load: LoadFigures,
    /// How the attempt to revert the newest migration was refused.
    revert_refused: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Replaced {
    part: String,
    /// Until the new program was ready.
    millis: u64,
    steps_at_work: usize,
    /// Until a step had begun and ended.
    back_millis: u64,
}

pub(super) async fn run<W: Work>(
    driver: &FaultDriver<'_, W>,
    stack: &mut Stack,
    new: &Programs,
) -> anyhow::Result<(DriverResult, UpgradeFigures)> {
    let load = SteadyLoad::start(stack).await?;
    let (mut result, mut figures) = (DriverResult::default(), UpgradeFigures::default());
    let servers = (0..stack.servers.len()).map(Part::Server);
    let workers = (0..stack.workers.len()).map(Part::Worker);
    let runners = (0..stack.runners.len()).map(Part::Runner);
    let parts: Vec<Part> = [Part::Schema]
        .into_iter()
        .chain(servers)
        .chain(workers)
        .chain(runners)
        .chain([Part::RevertedSchema])
        .collect();
    let halves = 2 * parts.len() as u64;
    for (index, part) in parts.into_iter().enumerate() {
        driver.load.open(driver.deployments * (2 * index as u64 + 1) / halves);
        let steps_at_work = wait_for_work(driver.work).await;
        let began = Instant::now();
        match part {
            Part::Schema => drop(admin(&new.daemon, &stack.postgres.url(), &["migrate", "up"]).await?),
            Part::Server(index) => stack.servers[index].daemon.replace(new.daemon.clone()).await?,
            Part::Worker(index) => stack.workers[index].daemon.replace(new.daemon.clone()).await?,
            Part::Runner(index) => stack.replace_runner(index, new).await?,
            Part::RevertedSchema => {
                figures.revert_refused = revert(stack, new).await?;
                if figures.revert_refused.is_none() {
                    let text = "the newest migration was reverted although daemons need it";
                    result.findings.push(Finding::new("U3", text));
                }
            }
        }
        let millis = millis(began);
        driver.load.open(driver.deployments * (2 * index as u64 + 2) / halves);
        let replaced = Instant::now();
        let finding = driver.recover(stack).await;
        result.findings.extend(finding.map(|text| Finding::new("D10", format!("{text} ({part:?})"))));
        let back_millis = self::millis(replaced);
        print_progress(&format!(
            "{part:?} in {millis} ms, {steps_at_work} steps at work; back after {back_millis} ms ({} deployments)",
            driver.load.settled()
        ));
        let part = format!("{part:?}");
        figures.replaced.push(Replaced { part, millis, steps_at_work, back_millis });
    }
    driver.load.open(driver.deployments);
    result.findings.extend(driver.wait_for_acceptance().await);
    driver.load.close();
    let (load, findings) = load.end().await?;
    figures.load = load;
    result.findings.extend(findings);
    Ok((result, figures))
}

async fn wait_for_work(work: &impl Work) -> usize {
    let started = Instant::now();
    loop {
        let steps = work.steps_at_work();
        if steps > 0 || started.elapsed() > WORK_TIMEOUT {
            return steps;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Tries to revert the newest migration. Returns why that was refused.
async fn revert(stack: &Stack, new: &Programs) -> anyhow::Result<Option<String>> {
    let url = stack.postgres.url();
    let migrations = admin(&new.daemon, &url, &["migrate", "status"]).await?;
    let newest = migrations.lines().last().and_then(|line| line.split(' ').next()?.parse::<i64>().ok());
    let before = (newest.context("migrate status printed no number")? - 1).to_string();
    let refused = admin(&new.daemon, &url, &["migrate", "down", "--to", &before]).await.err();
    Ok(refused.map(|error| error.to_string()))
}

pub(super) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
