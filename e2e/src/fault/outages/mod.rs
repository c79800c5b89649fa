//! `fault locks --outages`: PostgreSQL is away for 5 seconds to 10 minutes, again and again, and no session may lose
//! what had time left. Only a moment of each outage is real; the rest passes in moved time, while the daemons are still cut off.
//!
//! Half of the environments are prepared for the next outage while the other half is judged.

mod expected;
mod fixture;
mod judge;
mod moved_time;
mod sweep_watch;
mod trial;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::fault::finding::{Finding, FindingSummary};
use crate::fault::outages::expected::{Action, Expected, Passed, Right};
use crate::fault::outages::fixture::{OutageFixture, TRIALS};
pub(crate) use crate::fault::outages::judge::OutageFigures;
use crate::fault::outages::sweep_watch::SweepWatch;
use crate::fault::outages::trial::{Acted, KINDS, Trial, claimed_party};
use crate::fault::stack::Stack;
use crate::parts::output::print_progress;
use crate::parts::proxy::Network;
use crate::parts::stalls::StallDetector;

const LENGTHS: std::ops::Range<f64> = 5.0..600.0;
/// One outage in so many lasts its whole length, without moved time.
const REAL_EVERY: u64 = 80;
/// An outage of at least this length is counted as an absence. The product's gap is 10 s; of an outage some time passes
/// really, and only the rest is moved.
const ABSENCE_LENGTH: Duration = Duration::from_secs(12);
const REAL_LENGTH: Duration = ABSENCE_LENGTH;
/// Longer than everything that is left after a trial.
const PURGE_SECONDS: f64 = 200_000.0;
/// The longest deadline that a trial waits for after its outage.
const LONGEST_STEP: f64 = 1_000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// All connections are reset, and new ones too.
    Disconnected,
    /// A fast shutdown.
    Stopped,
    /// `kill -9` of the postmaster and all of its children.
    Killed,
}

struct Outage {
    number: u64,
    cause: Cause,
    /// In seconds.
    length: f64,
    is_real: bool,
}

struct Campaign<'a> {
    fixture: Arc<OutageFixture>,
    url: String,
    stalls: &'a StallDetector,
    sweeps: SweepWatch,
    figures: OutageFigures,
    found: &'a mut FindingSummary,
    /// The highest fence of each environment.
    fences: HashMap<String, i64>,
}

/// The environments of one outage.
struct Batch {
    trials: Vec<Trial>,
    /// When their remaining times were known last.
    since: Instant,
}

pub(crate) async fn run(
    stack: &mut Stack,
    (count, until_found, seed): (u64, bool, u64),
    stalls: &StallDetector,
    found: &mut FindingSummary,
) -> anyhow::Result<OutageFigures> {
    let mut campaign = Campaign {
        fixture: Arc::new(OutageFixture::make(stack).await?),
        url: stack.postgres.url(),
        stalls,
        sweeps: SweepWatch::start(stack.postgres.url()),
        figures: OutageFigures::default(),
        found,
        fences: HashMap::new(),
    };
    let (mut rng, started) = (StdRng::seed_from_u64(seed), Instant::now());
    let mut outage = Outage::choose(0, &mut rng);
    let mut batch = prepare(&campaign.fixture, &outage, seed).await?;
    for number in 1..=count {
        campaign.interrupt(stack, &outage, &mut batch).await?;
        let next = Outage::choose(number, &mut rng);
        let fixture = Arc::clone(&campaign.fixture);
        // The last one is prepared for nothing.
        let (finished, prepared) = tokio::join!(
            campaign.finish(&outage, batch),
            prepare(&fixture, &next, seed.wrapping_add(number))
        );
        finished?;
        (batch, outage) = (prepared?, next);
        let violations = campaign.found.violations;
        if number.is_multiple_of(10) || number == count {
            print_progress(&format!(
                "{number} of {count} outages in {:.0?}, {violations} violations, {:?}",
                started.elapsed(),
                campaign.figures
            ));
        }
        if until_found && violations > 0 {
            break;
        }
    }
    Ok(campaign.figures)
}

impl Outage {
    fn choose(number: u64, rng: &mut StdRng) -> Self {
        let cause = match rng.random_range(0..10) {
            0..5 => Cause::Disconnected,
            5..8 => Cause::Stopped,
            _ => Cause::Killed,
        };
        // As many from 5 to 15 seconds as from 200 to 600.
        let length = rng.random_range(LENGTHS.start.ln()..LENGTHS.end.ln()).exp();
        let is_real = number % REAL_EVERY == REAL_EVERY / 2;
        let length = if is_real { REAL_LENGTH.as_secs_f64() } else { length };
        Self { number, cause, length, is_real }
    }
}

async fn prepare(fixture: &Arc<OutageFixture>, outage: &Outage, seed: u64) -> anyhow::Result<Batch> {
    let (since, mut preparing) = (Instant::now(), JoinSet::new());
    let first = usize::try_from(outage.number % 2)? * TRIALS;
    for (index, kind) in KINDS.into_iter().enumerate() {
        let (fixture, environment) = (Arc::clone(fixture), fixture.environments[first + index].clone());
        let (length, seed) = (outage.length, seed.wrapping_mul(1_000).wrapping_add(index as u64));
        preparing.spawn(async move { Trial::prepare(&fixture, kind, environment, length, seed).await });
    }
    let mut trials = Vec::new();
    while let Some(prepared) = preparing.join_next().await {
        trials.push(prepared??);
    }
    trials.sort_by(|one, other| one.environment.cmp(&other.environment));
    Ok(Batch { trials, since })
}

impl Campaign<'_> {
    /// Makes PostgreSQL unreachable, and judges what is left afterwards.
    async fn interrupt(
        &mut self,
        stack: &mut Stack,
        outage: &Outage,
        batch: &mut Batch,
    ) -> anyhow::Result<()> {
        let given: Vec<_> = batch.trials.iter().flat_map(|trial| trial.given.clone()).collect();
        for trial in &mut batch.trials {
            let holder = trial.expected.as_mut().and_then(|expected| expected.holder.as_mut());
            if let Some(holder) = holder.filter(|holder| holder.right == Right::Lease) {
                holder.left.least -= batch.since.elapsed().as_secs_f64();
            }
        }
        batch.since = Instant::now();
        moved_time::give(&self.url, self.fixture.organization, &given).await?;
        let (moved, unswept) = self.away(stack, outage, batch).await?;
        let (back, mut acting) = (Instant::now(), JoinSet::new());
        for mut trial in std::mem::take(&mut batch.trials) {
            let fixture = Arc::clone(&self.fixture);
            acting.spawn(async move { trial.act(&fixture).await.map(|acted| (trial, acted)) });
        }
        let (swept, mut acted) = (moved_time::swept(&self.url, self.stalls).await, Vec::new());
        self.sweeps.reset();
        while let Some(result) = acting.join_next().await {
            acted.push(result??);
        }
        acted.sort_by(|(one, _), (other, _)| one.environment.cmp(&other.environment));
        // An action may have granted or ended something, which is due then.
        let settled = moved_time::settled(&self.url, self.stalls).await?;
        self.require_settled(swept? && settled, outage);
        let settling = u64::try_from(self.stalls.running_since(back).as_millis())?;
        self.figures.longest_settling_millis = self.figures.longest_settling_millis.max(settling);
        self.figures.outages += 1;
        self.figures.absences += u64::from(outage.length >= ABSENCE_LENGTH.as_secs_f64());
        self.figures.away_seconds += outage.length.round() as u64;
        let responses: Vec<Option<Acted>> = acted
            .into_iter()
            .map(|(trial, acted)| {
                batch.trials.push(trial);
                acted
            })
            .collect();
        let rows = self.read(batch).await?;
        let real = batch.since.elapsed().as_secs_f64();
        let mut time = Passed::outage(moved, real, unswept + self.sweeps.longest());
        if outage.is_real {
            time.absent = Some(true);
        }
        for (trial, acted) in batch.trials.iter_mut().zip(responses) {
            let commanded = trial.action != Action::Nothing;
            let Some(expected) = &mut trial.expected else { continue };
            expected.pass(time, commanded);
            if expected.settle(real).is_none() {
                trial.expected = None;
                continue;
            }
            let Some(acted) = acted else { continue };
            let claimed = acted.claimed.map(|session| claimed_party(session, real));
            let must_be_alive = expected.act(trial.action, claimed, real);
            if must_be_alive != acted.is_alive {
                let text = format!(
                    "{}: {:?} was answered with {}, alive: {}",
                    context(outage, trial),
                    trial.action,
                    acted.status,
                    acted.is_alive
                );
                self.found.add(vec![Finding::new(if must_be_alive { "L18" } else { "L19" }, text)]);
                trial.expected = None;
            }
        }
        batch.since = Instant::now();
        self.judge(outage, batch, &rows);
        self.judge_list(outage, batch).await
    }

    /// Returns the seconds of the outage that passed in moved time, and how long ago the last sweep was before.
    async fn away(&self, stack: &mut Stack, outage: &Outage, batch: &Batch) -> anyhow::Result<(f64, f64)> {
        let began = Instant::now();
        match outage.cause {
            Cause::Disconnected => {}
            Cause::Stopped => stack.postgres.stop().await?,
            Cause::Killed => stack.postgres.kill().await?,
        }
        stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Cut));
        if outage.cause != Cause::Disconnected {
            stack.postgres.start().await?;
        }
        if outage.is_real {
            tokio::time::sleep(REAL_LENGTH.saturating_sub(began.elapsed())).await;
        } else {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let moved = if outage.is_real { 0.0 } else { outage.length - began.elapsed().as_secs_f64() };
        let unswept = moved_time::unswept(&self.url).await?;
        if moved > 0.0 {
            let (environments, seconds) =
                (&self.fixture.environments, vec![moved; self.fixture.environments.len()]);
            let organization = self.fixture.organization;
            let sessions = sessions(batch);
            moved_time::advance(&self.url, organization, (environments, &seconds), &sessions, Some(moved))
                .await?;
        }
        stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Good));
        Ok((moved.max(0.0), unswept))
    }

    /// Lets time pass in which everything is reachable, so that some of what was kept is over. Then frees the environments.
    async fn finish(&mut self, outage: &Outage, mut batch: Batch) -> anyhow::Result<()> {
        let steps: Vec<f64> = batch.trials.iter_mut().map(choose_step).collect();
        let (names, organization) = (names(&batch), self.fixture.organization);
        let time = (names.as_slice(), steps.as_slice());
        moved_time::advance(&self.url, organization, time, &sessions(&batch), None).await?;
        let settled = moved_time::settled(&self.url, self.stalls).await?;
        self.require_settled(settled, outage);
        let rows = self.read(&batch).await?;
        let (real, unswept) = (batch.since.elapsed().as_secs_f64(), self.sweeps.longest());
        for (trial, step) in batch.trials.iter_mut().zip(&steps) {
            if let Some(expected) = &mut trial.expected {
                expected.pass(Passed::present(*step, real, unswept), false);
                if expected.settle(real).is_none() {
                    trial.expected = None;
                }
            }
        }
        self.judge(outage, &mut batch, &rows);
        for row in &rows {
            let highest = self.fences.entry(row.environment.clone()).or_default();
            *highest = row.fence.unwrap_or_default().max(*highest);
        }
        let seconds = vec![PURGE_SECONDS; names.len()];
        moved_time::advance(&self.url, organization, (&names, &seconds), &sessions(&batch), None).await
    }

    fn require_settled(&mut self, settled: bool, outage: &Outage) {
        if !settled {
            let text = format!("outage {}: the sweepers did not settle what was due in time", outage.number);
            self.found.add(vec![Finding::new("L10", text)]);
        }
    }

    async fn read(&self, batch: &Batch) -> anyhow::Result<Vec<moved_time::Stored>> {
        moved_time::read(&self.url, self.fixture.organization, &names(batch), &sessions(batch)).await
    }

    fn judge(&mut self, outage: &Outage, batch: &mut Batch, rows: &[moved_time::Stored]) {
        for trial in &mut batch.trials {
            let context = context(outage, trial);
            let own: Vec<_> = rows.iter().filter(|row| row.environment == trial.environment).collect();
            let floor = self.fences.get(&trial.environment).copied().unwrap_or_default();
            let doubled = judge::grants(&context, &own, floor);
            self.figures.granted_twice += doubled.len() as u64;
            self.found.add(doubled);
            let Some(expected) = &trial.expected else {
                self.figures.undecided += 1;
                continue;
            };
            self.figures.judged += 1;
            let mut findings = Vec::new();
            if !judge::environment((&context, expected), &own, &mut self.figures, &mut findings) {
                trial.expected = None;
            }
            self.found.add(findings);
        }
    }

    /// Judges what one of the servers shows to users.
    async fn judge_list(&mut self, outage: &Outage, batch: &Batch) -> anyhow::Result<()> {
        let fixture = &self.fixture;
        let server = usize::try_from(outage.number)? % fixture.http.servers();
        let call = (Method::GET, fixture.path.as_str());
        let response = fixture.http.call(server, &fixture.owner_token, call, None, None).await;
        let Some((200, listed)) = response else { return Ok(()) };
        let holder = |expected: &Expected| expected.holder.map(|holder| holder.session);
        let expected: HashMap<&str, Option<Uuid>> = (batch.trials.iter())
            .filter_map(|trial| Some((trial.environment.as_str(), holder(trial.expected.as_ref()?))))
            .collect();
        self.found.add(judge::listed(&format!("outage {}", outage.number), &listed, &expected));
        Ok(())
    }
}

/// Returns after how many seconds one of those that are alive is over; at times, after no time in particular.
fn choose_step(trial: &mut Trial) -> f64 {
    let expected = trial.expected.iter();
    let mut left: Vec<f64> =
        expected.clone().flat_map(Expected::alive).map(|party| party.left.most).collect();
    left.extend(expected.filter_map(|expected| expected.request).map(|request| request.left.most));
    left.retain(|left| *left < LONGEST_STEP);
    if left.is_empty() || trial.rng.random_ratio(1, 5) {
        return trial.rng.random_range(1.0..50.0);
    }
    left[trial.rng.random_range(0..left.len())] + 0.5
}

fn context(outage: &Outage, trial: &Trial) -> String {
    let Outage { number, cause, length, .. } = outage;
    format!(
        "outage {number} ({cause:?}, {length:.0} s), {} ({:?}, {:?})",
        trial.environment, trial.kind, trial.action
    )
}

fn names(batch: &Batch) -> Vec<String> {
    batch.trials.iter().map(|trial| trial.environment.clone()).collect()
}

fn sessions(batch: &Batch) -> Vec<Uuid> {
    batch.trials.iter().flat_map(|trial| trial.sessions.iter().copied()).collect()
}
