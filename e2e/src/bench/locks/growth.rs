//! The part `growth`: compares a claim with an empty history to one with a long history, and the first page
//! of the history to a late one. The two sides alternate, one request at a time. Query plans and buffers are
//! compared in addition to times, because they do not depend on the load of the machine.

use std::time::Instant;

use anyhow::bail;
use serde_json::json;

use super::fixture::{Client, LockFixture};
use super::past::{FIRST_ENVIRONMENT_DIVISOR, PastFixture};
use super::plans::{self, Cost};
use super::wire::{self, Wire};
use super::{BenchLocks, Figures};
use crate::bench::{median, print_progress, quantile};
use crate::stack::Stack;

const WARM_UP: usize = 300;
const CLAIMS: usize = 2_500;
const PAGES: usize = 500;
const LATE_PAGE: i64 = 1_000;
const ENTRIES_A_PAGE: i64 = 20;

/// The milliseconds of each claim and of each release.
#[derive(Default)]
struct Times {
    claims: Vec<f64>,
    releases: Vec<f64>,
}

pub(crate) async fn measure(arguments: &BenchLocks) -> anyhow::Result<Figures> {
    print_progress("growth: starting PostgreSQL, with a server and a worker for each of two databases");
    let stack = Stack::start("bench-growth").await?;
    let measured = compare(&stack, arguments.sessions).await;
    stack.end().await?;
    measured
}

async fn compare(stack: &Stack, sessions: i64) -> anyhow::Result<Figures> {
    let young = PastFixture::begin(stack, "bench_young", 0).await?;
    let old = PastFixture::begin(stack, "bench_old", sessions).await?;
    let (in_young, in_old) = claims(&young, &old).await?;
    // A history that was requested shorter than usual has fewer pages.
    let late_page = LATE_PAGE.min(sessions / FIRST_ENVIRONMENT_DIVISOR / ENTRIES_A_PAGE).max(1);
    let [first, late] = pages(&old.fixture, late_page).await?;

    let (young, young_costs) = plans::watch(young).await?;
    let (old, old_costs) = plans::watch(old).await?;
    let differences = plans::differences(&young_costs, &old_costs);
    young.end().await;
    old.end().await;
    let (claim_growth, history_growth) = (ratio(&in_old.claims, &in_young.claims), ratio(&late, &first));
    print_progress(&format!(
        "growth: a claim takes {claim_growth:.3} times as long, page {late_page} {history_growth:.3} times"
    ));
    let details = json!({
        "sessions": sessions,
        "claims": in_old.claims.len(),
        "withoutPast": in_young.figures(),
        "withPast": in_old.figures(),
        "historyLatePage": late_page,
        "historyFirstPageMs": median(first),
        "historyLatePageMs": median(late),
        "plansEqual": differences.is_empty(),
        "planDifferences": differences,
        "buffersPerPairWithoutPast": Cost::buffers_of(&young_costs),
        "buffersPerPairWithPast": Cost::buffers_of(&old_costs),
        "statements": plans::side_by_side(&young_costs, &old_costs),
    });
    Ok(Figures::from_iter([
        ("claimGrowth".to_owned(), json!(claim_growth)),
        ("historyGrowth".to_owned(), json!(history_growth)),
        ("growth".to_owned(), details),
    ]))
}

async fn claims(young_fixture: &PastFixture, old_fixture: &PastFixture) -> anyhow::Result<(Times, Times)> {
    let (mut in_young, mut in_old) = (Times::default(), Times::default());
    let (mut young, mut old) = (young_fixture.fixture.client(0).await?, old_fixture.fixture.client(0).await?);
    for number in 0..2 * WARM_UP {
        if number == WARM_UP {
            // Autovacuum would do this too. Without it, PostgreSQL plans as if an empty table stayed empty,
            // and any long history seems fast in comparison.
            young_fixture.analyze().await?;
            old_fixture.analyze().await?;
        }
        Times::default().take(&mut young).await?;
        Times::default().take(&mut old).await?;
    }
    for number in 0..CLAIMS {
        // Each side is first in every other round.
        if number % 2 == 0 {
            in_young.take(&mut young).await?;
            in_old.take(&mut old).await?;
        } else {
            in_old.take(&mut old).await?;
            in_young.take(&mut young).await?;
        }
    }
    Ok((in_young, in_old))
}

impl Times {
    async fn take(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let started = Instant::now();
        client.claim().await?;
        self.claims.push(millis(started));
        let started = Instant::now();
        client.release().await?;
        self.releases.push(millis(started));
        Ok(())
    }

    fn figures(&self) -> serde_json::Value {
        json!({
            "claimMs": median(self.claims.clone()),
            "claimP90Ms": quantile(&self.claims, 0.9),
            "releaseMs": median(self.releases.clone()),
        })
    }
}

/// Returns the milliseconds of the first page, and of a late one.
async fn pages(fixture: &LockFixture, late_page: i64) -> anyhow::Result<[Vec<f64>; 2]> {
    let mut wire = Wire::connect(&fixture.host).await?;
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..WARM_UP + PAGES {
        for (page, times) in [1, late_page].into_iter().zip(&mut times) {
            let path = format!("{}/history?page={page}&limit={ENTRIES_A_PAGE}", fixture.environment(0));
            let request = wire::request("GET", &fixture.host, &path, &fixture.token, "");
            let started = Instant::now();
            let response = wire.send(&request).await?;
            // An empty page would be too fast for a fair comparison.
            if response.status != 200 || wire::find(response.body, b"\"sessionId\"").is_none() {
                bail!("page {page} returned {}: {}", response.status, String::from_utf8_lossy(response.body));
            }
            if number >= WARM_UP {
                times.push(millis(started));
            }
        }
    }
    Ok(times)
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn ratio(times: &[f64], base: &[f64]) -> f64 {
    median(times.to_vec()) / median(base.to_vec())
}
