//! One fault after the other, each while something is at work; and after each, work has to go on.

use std::time::{Duration, Instant};

use rand::RngExt;
use uuid::Uuid;

use crate::fault::clock::{Clock, Micros, SECOND};
use crate::fault::deployments::client::Shared;
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::inject::Injector;
use crate::fault::deployments::stack::Stack;
use crate::fault::deployments::target::Target;
use crate::fault::finding::Finding;
use crate::parts::say::say;

/// How long to wait for a step that a fault can hit.
const WORK: Duration = Duration::from_secs(40);
/// And for one that goes on for so long, in microseconds.
const LONG_WORK: Duration = Duration::from_secs(15);
const LONG: Micros = 12 * SECOND;
/// Within this time after a fault a step has to begin and to end: a lost job is given away after 36 s, and the environment that it
/// had may be the only one that anybody wants.
const RECOVERY: Duration = Duration::from_secs(90);
/// How long clients may take to get all their deployments accepted, once nothing is in their way.
const ACCEPTANCE: Duration = Duration::from_secs(240);

#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) faults: Vec<Fault>,
    /// How many of them hit something at work.
    pub(crate) hits: u64,
    pub(crate) findings: Vec<Finding>,
}

pub(crate) struct Scene<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) target: &'a Target,
    pub(crate) clock: Clock,
    pub(crate) deployments: u64,
}

impl Scene<'_> {
    pub(crate) async fn run(
        &self,
        stack: &mut Stack,
        injector: &mut Injector,
        deck: &[Fault],
    ) -> anyhow::Result<Told> {
        let mut told = Told::default();
        let halves = 2 * deck.len().max(1) as u64;
        for (index, fault) in deck.iter().enumerate() {
            // Half of a fault's share begins before it and half after, so that it hits some and some show that work goes on.
            self.shared.load.open(self.deployments * (2 * index as u64 + 1) / halves);
            let jobs = self.wait_for_work(injector, *fault).await;
            let (hit, number) = (!jobs.is_empty(), self.target.at_work());
            let done = injector.inject(stack, *fault, &jobs).await?;
            told.faults.push(*fault);
            told.hits += u64::from(hit);
            self.shared.load.open(self.deployments * (2 * index as u64 + 2) / halves);
            let healed = Instant::now();
            let finding = self.recover(stack).await;
            say(&format!(
                "{done}, {number} steps at work; back after {:.1?} ({} deployments)",
                healed.elapsed(),
                self.shared.load.settled()
            ));
            told.findings.extend(finding.map(|text| Finding::new("D10", format!("{text} ({done})"))));
        }
        self.shared.load.open(self.deployments);
        told.findings.extend(self.all_asked_for().await);
        self.shared.load.close();
        Ok(told)
    }

    /// Waits a moment by chance, and until there is something for this fault to hit. The attempts that are at work then.
    async fn wait_for_work(&self, injector: &mut Injector, fault: Fault) -> Vec<Uuid> {
        tokio::time::sleep(Duration::from_millis(injector.rng.random_range(0..1_500))).await;
        let started = Instant::now();
        loop {
            let patient = fault.wants_long_work() && started.elapsed() < LONG_WORK;
            let jobs = self.target.at_work_for(if patient { LONG } else { 0 });
            if !jobs.is_empty() || started.elapsed() > WORK {
                return jobs;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until a step has begun and ended since. What is wrong, if that takes too long.
    async fn recover(&self, stack: &mut Stack) -> Option<String> {
        let (started, healed) = (Instant::now(), self.clock.now());
        while self.target.done_since(healed) == 0 {
            if started.elapsed() > RECOVERY {
                return Some(format!("no step has begun and ended within {RECOVERY:?} after a fault"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        died(stack)
    }

    async fn all_asked_for(&self) -> Option<Finding> {
        let started = Instant::now();
        while self.shared.load.settled() < self.deployments {
            if started.elapsed() > ACCEPTANCE {
                let text = format!(
                    "{} of {} deployments were accepted {ACCEPTANCE:?} after the last fault",
                    self.shared.load.settled(),
                    self.deployments
                );
                return Some(Finding::new("D10", text));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    }
}

/// Who has ended without being killed.
pub(crate) fn died(stack: &mut Stack) -> Option<String> {
    let mut dead: Vec<String> = Vec::new();
    for part in stack.parts() {
        if part.daemon.has_died() {
            dead.push(part.name.clone());
        }
    }
    for hand in &mut stack.runners {
        if hand.runner.program().is_ok_and(|program| !matches!(program.end_seen(), Ok(None))) {
            dead.push(hand.runner.name.clone());
        }
    }
    (!dead.is_empty()).then(|| format!("died without being killed: {}", dead.join(", ")))
}
