//! Failures of what all teams share: a service that is down, and a runner that is killed.

use std::sync::Arc;

use anyhow::{Context, ensure};
use greenroom_domain::failure::VerdictKind;
use rand::RngExt;
use tokio::task::JoinSet;

use crate::fault::verdicts::case::{CaseKind, Planted};
use crate::fault::verdicts::deployment::{Change, Ended};
use crate::fault::verdicts::fixture::{LOST_POOL, PEOPLE, VerdictFixture};
use crate::fault::verdicts::plants::{ENVIRONMENTS, Script};
use crate::fault::verdicts::team::Team;
use crate::parts::deadline::Deadline;

const BEGIN_TIMEOUT_SECONDS: u64 = 120;

/// Plays an outage: everybody who deploys meanwhile fails in the same way.
pub(super) async fn play(teams: &mut [Team], kind: CaseKind) -> anyhow::Result<()> {
    let first = teams.first_mut().context("there is no team")?;
    let (fixture, people) = (Arc::clone(&first.fixture), first.people());
    let offset = first.rng.random_range(0..PEOPLE);
    let cause = fixture.causes.outage();
    fixture.plants.begin_outage(&cause)?;
    let mut victims = Vec::new();
    let count = teams.len();
    for (number, person) in people.into_iter().take(kind.failures()).enumerate() {
        let index = if kind == CaseKind::Outage { offset + number } else { offset };
        let team = teams.get_mut(index % count).context("there is no team")?;
        let change = Change { person, ..team.change() };
        victims.push((index % count, ENVIRONMENTS[number % ENVIRONMENTS.len()], change));
    }
    for (index, ended) in deploy_all(&fixture, teams, &victims).await? {
        let team = teams.get_mut(index).context("there is no team")?;
        team.expect_failed(kind, VerdictKind::NotOnlyYou, &cause, ended);
    }
    fixture.plants.end_outage(&cause)?;
    // Afterwards, their next commits are good.
    for (index, _, change) in &mut victims {
        let team = teams.get_mut(*index).context("there is no team")?;
        *change = Change { person: change.person, ..team.change() };
    }
    for (index, ended) in deploy_all(&fixture, teams, &victims).await? {
        ensure!(ended.status == "succeeded", "a good deployment did not succeed: {ended:?}");
        teams.get_mut(index).context("there is no team")?.good += 1;
    }
    Ok(())
}

/// Deploys changes of teams concurrently.
async fn deploy_all(
    fixture: &Arc<VerdictFixture>,
    teams: &[Team],
    changes: &[(usize, &'static str, Change)],
) -> anyhow::Result<Vec<(usize, Ended)>> {
    let mut running = JoinSet::new();
    for (index, environment, change) in changes.iter().cloned() {
        let pipeline = teams.get(index).context("there is no team")?.pipeline.clone();
        let fixture = Arc::clone(fixture);
        running.spawn(async move {
            let ended = fixture.deploy(&pipeline, environment, &change).await?;
            anyhow::Ok((index, ended))
        });
    }
    let mut ended = Vec::new();
    while let Some(joined) = running.join_next().await {
        ended.push(joined.context("a deployment broke the harness")??);
    }
    Ok(ended)
}

/// Kills a runner while it runs this many deployments.
pub(super) async fn lose_runner(fixture: &VerdictFixture, count: usize) -> anyhow::Result<Vec<Planted>> {
    let cause = fixture.causes.next().id;
    fixture.create_pipeline(LOST_POOL, LOST_POOL, Script::Hang).await?;
    let mut deployments = Vec::new();
    for number in 0..count {
        let commit = format!("{number:040x}");
        let change = Change { person: number % PEOPLE, commit, branch: None };
        deployments.push(fixture.start_deployment(LOST_POOL, &change).await?);
    }
    let deadline = Deadline::in_seconds(BEGIN_TIMEOUT_SECONDS);
    while !deployments.iter().all(|deployment| fixture.plants.hangs(deployment)) {
        deadline.wait(|| "not all steps of the runner have begun".to_owned()).await?;
    }
    fixture.lost_runner.lock().await.program()?.kill().await?;
    let mut planted = Vec::new();
    for deployment in deployments {
        let ended = fixture.end_of(&deployment).await?;
        ensure!(ended.status == "errored", "a deployment without its runner has not errored: {ended:?}");
        let (kind, expected) = (CaseKind::LostRunner, VerdictKind::Platform);
        planted.push(Planted { kind, expected, cause, deployment, step: None });
    }
    Ok(planted)
}
