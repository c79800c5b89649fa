//! The result of an overload campaign, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Step;
use crate::fault::finding::FindingSummary;
use crate::fault::overload::attack::Attack;
use crate::fault::overload::judge::{Control, Observed, Phase, judge, ratio, shows_harm};
use crate::fault::overload::options::Scale;
use crate::fault::overload::shape::Shape;
use crate::fault::overload::window::Counts;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    scale: Scale,
    seconds: u64,
    heartbeats_failed: usize,
    renewals_failed: usize,
    deployments_lost: usize,
    locks_lost: usize,
    wrong_statuses: usize,
    /// The largest of all phases; null if there were no reads.
    p95_ratio: Option<f64>,
    /// The longest of all phases; null if the victim did not recover after one.
    recovery_seconds: Option<f64>,
    max_rss_mib: f64,
    quiet: QuietReport,
    /// The attacks of the last phase, which runs all of them together.
    attack: BTreeMap<Attack, Shape>,
    phases: Vec<PhaseReport>,
    control: Option<ControlReport>,
    /// Why this run proves nothing, or null.
    void: Option<String>,
    /// Whether the system clock was stepped during the run. Such a run is void whatever it has found.
    clock_stepped: bool,
    #[serde(flatten)]
    found: FindingSummary,
    /// The first requests of the victim that failed while the limits were on.
    complaints: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct QuietReport {
    p95_ms: Option<f64>,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhaseReport {
    name: String,
    seconds: f64,
    p95_ms: Option<f64>,
    p95_ratio: Option<f64>,
    recovery_seconds: Option<f64>,
    max_rss_mib: f64,
    #[serde(flatten)]
    counts: Counts,
    attack: BTreeMap<Attack, Shape>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ControlReport {
    harmed: bool,
    quiet_p95_ms: Option<f64>,
    p95_ms: Option<f64>,
    p95_ratio: Option<f64>,
    #[serde(flatten)]
    counts: Counts,
}

impl Report {
    pub(crate) fn new(
        scale: Scale,
        (took, step): (Duration, Option<Step>),
        observed: &Observed,
        complaints: Vec<String>,
    ) -> Self {
        let verdict = judge(observed);
        let mut found = FindingSummary::default();
        found.add(verdict.findings);
        let phases = &observed.phases;
        let sum = |of: fn(&Counts) -> usize| phases.iter().map(|phase| of(&phase.counts)).sum();
        let ratios = phases.iter().filter_map(|phase| ratio(phase.p95, observed.quiet_p95));
        let recoveries: Option<Vec<f64>> =
            phases.iter().map(|phase| phase.recovery.map(|time| time.as_secs_f64())).collect();
        let internal: u64 =
            phases.iter().flat_map(|phase| phase.attack.values()).map(Shape::internal_errors).sum();
        Self {
            scale,
            seconds: took.as_secs(),
            heartbeats_failed: sum(|counts| counts.heartbeats_failed),
            renewals_failed: sum(|counts| counts.renewals_failed),
            deployments_lost: sum(|counts| counts.deployments_lost),
            locks_lost: sum(|counts| counts.locks_lost),
            wrong_statuses: sum(|counts| counts.wrong_statuses)
                + usize::try_from(internal).unwrap_or(usize::MAX),
            p95_ratio: ratios.reduce(f64::max),
            recovery_seconds: recoveries.and_then(|times| times.into_iter().reduce(f64::max)),
            max_rss_mib: phases.iter().map(|phase| phase.max_rss_mib).fold(0.0, f64::max),
            quiet: QuietReport { p95_ms: millis(observed.quiet_p95), counts: observed.quiet.clone() },
            attack: phases.last().map(|phase| phase.attack.clone()).unwrap_or_default(),
            phases: phases.iter().map(|phase| PhaseReport::new(phase, observed.quiet_p95)).collect(),
            control: observed.control.as_ref().map(ControlReport::new),
            clock_stepped: step.is_some(),
            // Leases end by the system clock, so nothing can be concluded from the loss of one.
            void: step.map(|step| step.to_string()).or(verdict.void),
            found,
            complaints,
        }
    }
}

impl CampaignReport for Report {
    fn found(&self) -> &FindingSummary {
        &self.found
    }

    fn void(&self) -> Option<&str> {
        self.void.as_deref()
    }

    fn clock_stepped(&self) -> bool {
        self.clock_stepped
    }

    fn write_summary(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for phase in &self.phases {
            let PhaseReport { name, p95_ratio, recovery_seconds, max_rss_mib, counts, .. } = phase;
            writeln!(
                out,
                "{name}: {} calls, {} wrong, p95 ratio {:.2}, recovery {:.1} s, {max_rss_mib:.0} MiB",
                counts.calls,
                counts.wrong_statuses,
                p95_ratio.unwrap_or(f64::NAN),
                recovery_seconds.unwrap_or(f64::NAN),
            )?;
        }
        writeln!(out, "{} violations in {} s", self.found.violations, self.seconds)?;
        Ok(())
    }
}

impl PhaseReport {
    fn new(phase: &Phase, quiet_p95: Option<Duration>) -> Self {
        Self {
            name: phase.name.clone(),
            seconds: phase.lasted.as_secs_f64(),
            p95_ms: millis(phase.p95),
            p95_ratio: ratio(phase.p95, quiet_p95),
            recovery_seconds: phase.recovery.map(|time| time.as_secs_f64()),
            max_rss_mib: phase.max_rss_mib,
            counts: phase.counts.clone(),
            attack: phase.attack.clone(),
        }
    }
}

impl ControlReport {
    fn new(control: &Control) -> Self {
        Self {
            harmed: shows_harm(control),
            quiet_p95_ms: millis(control.quiet_p95),
            p95_ms: millis(control.p95),
            p95_ratio: ratio(control.p95, control.quiet_p95),
            counts: control.counts.clone(),
        }
    }
}

fn millis(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64() * 1e3)
}
