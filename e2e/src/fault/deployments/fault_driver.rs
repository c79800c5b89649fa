//! Injects one fault after the other, each while a step is at work, and checks that work continues after
//! each.

use std::time::{Duration, Instant};

use rand::RngExt;
use uuid::Uuid;

use crate::fault::clock::{Clock, Micros, SECOND};
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::inject::Injector;
use crate::fault::deployments::load::Load;
use crate::fault::deployments::stack::Stack;
use crate::fault::deployments::work::Work;
use crate::fault::finding::Finding;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

/// How long to wait for a step that a fault can hit.
const WORK_TIMEOUT: Duration = Duration::from_secs(40);
/// How long to wait for a step that still has at least [`MIN_LONG_WORK`] microseconds of work left.
const LONG_WORK_TIMEOUT: Duration = Duration::from_secs(15);
const MIN_LONG_WORK: Micros = 12 * SECOND;
/// Within this time after a fault a step has to begin and end. A lost job is given away after 36 s, and its
/// environment may be the only one that clients want.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(90);
/// How long clients may take to get all their deployments accepted once there are no more faults.
const ACCEPTANCE_TIMEOUT: Duration = Duration::from_secs(240);

#[derive(Debug, Default)]
pub(crate) struct DriverResult {
    pub(crate) faults: Vec<Fault>,
    /// How many of them hit a step at work.
    pub(crate) hits: u64,
    pub(crate) findings: Vec<Finding>,
}

pub(crate) struct FaultDriver<'a, W> {
    pub(crate) load: &'a Load,
    pub(crate) work: &'a W,
    pub(crate) clock: Clock,
    pub(crate) stalls: &'a StallDetector,
    pub(crate) deployments: u64,
    /// Whether some steps are long. Faults that need one wait for it.
    pub(crate) has_long_work: bool,
}

impl<W: Work> FaultDriver<'_, W> {
    pub(crate) async fn run(
        &self,
        stack: &mut Stack,
        injector: &mut Injector,
        schedule: &[Fault],
    ) -> anyhow::Result<DriverResult> {
        let mut result = DriverResult::default();
        let halves = 2 * schedule.len().max(1) as u64;
        for (index, fault) in schedule.iter().enumerate() {
            // Half of a fault's share starts before it and half after it. The fault hits the first half, and
            // the second shows that work continues.
            self.load.open(self.deployments * (2 * index as u64 + 1) / halves);
            let jobs = self.wait_for_work(injector, *fault).await;
            let (hit, number) = (!jobs.is_empty(), self.work.steps_at_work());
            let done = injector.inject(stack, *fault, &jobs).await?;
            result.faults.push(*fault);
            result.hits += u64::from(hit);
            self.load.open(self.deployments * (2 * index as u64 + 2) / halves);
            let reverted = Instant::now();
            let finding = self.recover(stack).await;
            print_progress(&format!(
                "{done}, {number} steps at work; back after {:.1?} ({} deployments)",
                reverted.elapsed(),
                self.load.settled()
            ));
            result.findings.extend(finding.map(|text| Finding::new("D10", format!("{text} ({done})"))));
        }
        self.load.open(self.deployments);
        result.findings.extend(self.wait_for_acceptance().await);
        self.load.close();
        Ok(result)
    }

    /// Waits for a random time, and until there is a step for this fault to hit. Returns the attempts that
    /// are at work then.
    async fn wait_for_work(&self, injector: &mut Injector, fault: Fault) -> Vec<Uuid> {
        tokio::time::sleep(Duration::from_millis(injector.rng.random_range(0..1_500))).await;
        let started = Instant::now();
        loop {
            let wants_long_work =
                self.has_long_work && fault.needs_long_work() && started.elapsed() < LONG_WORK_TIMEOUT;
            let jobs = self.work.jobs_at_work_for(if wants_long_work { MIN_LONG_WORK } else { 0 });
            if !jobs.is_empty() || started.elapsed() > WORK_TIMEOUT {
                return jobs;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until a step has begun and ended since then. Returns the violation if that takes too long.
    pub(super) async fn recover(&self, stack: &mut Stack) -> Option<String> {
        let (started, reverted) = (Instant::now(), self.clock.now());
        while self.work.steps_done_since(reverted) == 0 {
            if self.stalls.running_since(started) > RECOVERY_TIMEOUT {
                return Some(format!(
                    "no step has begun and ended within {RECOVERY_TIMEOUT:?} after a fault"
                ));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        find_dead(stack)
    }

    pub(super) async fn wait_for_acceptance(&self) -> Option<Finding> {
        let started = Instant::now();
        while self.load.settled() < self.deployments {
            if self.stalls.running_since(started) > ACCEPTANCE_TIMEOUT {
                let text = format!(
                    "{} of {} deployments were accepted {ACCEPTANCE_TIMEOUT:?} after the last fault",
                    self.load.settled(),
                    self.deployments
                );
                return Some(Finding::new("D10", text));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    }
}

/// Returns the parts that have ended without being killed.
pub(crate) fn find_dead(stack: &mut Stack) -> Option<String> {
    let mut dead: Vec<String> = Vec::new();
    for part in stack.parts() {
        if part.daemon.has_died() {
            dead.push(part.name.clone());
        }
    }
    for proxied in &mut stack.runners {
        if proxied.runner.program().is_ok_and(|program| !matches!(program.exit_status(), Ok(None))) {
            dead.push(proxied.runner.name.clone());
        }
    }
    (!dead.is_empty()).then(|| format!("died without being killed: {}", dead.join(", ")))
}
