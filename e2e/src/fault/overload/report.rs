//! The result of an overload campaign, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Step;
use crate::fault::finding::FindingSummary;
use crate::fault::overload::attack::Attack;
use crate::fault::overload::compared::Compared;
use crate::fault::overload::judge::{Control, MAX_RECOVERY, MAX_RSS_MIB, Observed, Phase, judge, shows_harm};
use crate::fault::overload::options::Scale;
use crate::fault::overload::pair::Window;
use crate::fault::overload::shape::Shape;
use crate::fault::overload::window::Counts;
use crate::parts::near_limit;
use crate::parts::stalls::StallFigures;

/// What is known of a run apart from what was observed.
pub(crate) struct Run {
    pub(crate) scale: Scale,
    pub(crate) seed: u64,
    pub(crate) without_limits: bool,
    pub(crate) took: Duration,
    pub(crate) clock_step: Option<Step>,
    pub(crate) stalls: StallFigures,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    scale: Scale,
    seed: u64,
    without_limits: bool,
    seconds: u64,
    heartbeats_failed: usize,
    renewals_failed: usize,
    deployments_lost: usize,
    locks_lost: usize,
    wrong_statuses: usize,
    claims: usize,
    claims_failed: usize,
    /// Requests of the victim's runner for jobs, and its reports.
    runner_requests: usize,
    runner_requests_failed: usize,
    /// How many tokens the hostile member of the victim's organization could make.
    member_tokens: usize,
    /// The medians of the pairs of a phase, and of all phases the largest; null if there were no reads.
    p95_ratio: Option<f64>,
    processor_ratio: Option<f64>,
    queue_millis: Option<f64>,
    /// Whether `p95Ratio` can be a violation.
    gates_latency: bool,
    /// The longest of all phases; null if the victim did not recover after an attack.
    recovery_seconds: Option<f64>,
    max_rss_mib: f64,
    /// Reads of the victim that overlap a stall of the machine, of `reads` in all windows.
    reads_left_out: usize,
    reads: usize,
    /// Pairs in whose quiet window other programs kept the processors busy, of all phases.
    starved_pairs: usize,
    #[serde(flatten)]
    stalls: StallFigures,
    /// Figures that are close to their limits, or null.
    warning: Option<String>,
    before: Counts,
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
struct PhaseReport {
    name: String,
    seconds: f64,
    p95_ratio: Compared,
    processor_ratio: Compared,
    queue_millis: Compared,
    recovery_seconds: Option<f64>,
    settled_seconds: f64,
    max_rss_mib: f64,
    #[serde(flatten)]
    counts: Counts,
    windows: Vec<[WindowReport; 2]>,
    attack: BTreeMap<Attack, Shape>,
}

/// The figures of one window, by which the two sides of a pair are compared.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WindowReport {
    side: &'static str,
    reads: usize,
    left_out: usize,
    p95_ms: Option<f64>,
    /// The server's, per read of the victim.
    processor_ms: Option<f64>,
    processor_wait_ms: Option<f64>,
    in_server_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ControlReport {
    harmed: bool,
    #[serde(flatten)]
    counts: Counts,
}

impl Report {
    pub(crate) fn new(run: Run, observed: &Observed, complaints: Vec<String>) -> Self {
        let verdict = judge(observed);
        let mut found = FindingSummary::default();
        found.add(verdict.findings);
        let phases = &observed.phases;
        let sum = |of: fn(&Counts) -> usize| phases.iter().map(|phase| of(&phase.counts)).sum();
        let median =
            |of: fn(&Phase) -> Compared| phases.iter().filter_map(|phase| of(phase).median).reduce(f64::max);
        let recoveries: Option<Vec<f64>> =
            phases.iter().map(|phase| phase.recovery.map(|time| time.as_secs_f64())).collect();
        let internal: u64 =
            phases.iter().flat_map(|phase| phase.attack.values()).map(Shape::internal_errors).sum();
        let recovery_seconds = recoveries.and_then(|times| times.into_iter().reduce(f64::max));
        let max_rss_mib = phases.iter().map(|phase| phase.max_rss_mib).fold(0.0, f64::max);
        let left_out = || phases.iter().map(Phase::left_out);
        Self {
            scale: run.scale,
            seed: run.seed,
            without_limits: run.without_limits,
            seconds: run.took.as_secs(),
            heartbeats_failed: sum(|counts| counts.heartbeats_failed),
            renewals_failed: sum(|counts| counts.renewals_failed),
            deployments_lost: sum(|counts| counts.deployments_lost),
            locks_lost: sum(|counts| counts.locks_lost),
            wrong_statuses: sum(|counts| counts.wrong_statuses)
                + usize::try_from(internal).unwrap_or(usize::MAX),
            claims: sum(|counts| counts.claims),
            claims_failed: sum(|counts| counts.claims_failed),
            runner_requests: sum(|counts| counts.runner_requests),
            runner_requests_failed: sum(|counts| counts.runner_requests_failed),
            member_tokens: observed.member_tokens,
            p95_ratio: median(Phase::p95_ratio),
            processor_ratio: median(Phase::processor_ratio),
            queue_millis: median(Phase::queue_millis),
            gates_latency: observed.gates_latency,
            recovery_seconds,
            max_rss_mib,
            reads_left_out: left_out().map(|(left_out, _)| left_out).sum(),
            reads: left_out().map(|(_, reads)| reads).sum(),
            starved_pairs: phases.iter().map(Phase::starved_pairs).sum(),
            stalls: run.stalls,
            warning: warning(phases, recovery_seconds, max_rss_mib),
            before: observed.before.clone(),
            attack: phases.last().map(|phase| phase.attack.clone()).unwrap_or_default(),
            phases: phases.iter().map(PhaseReport::new).collect(),
            control: observed.control.as_ref().map(ControlReport::new),
            clock_stepped: run.clock_step.is_some(),
            // Leases end by the system clock, so nothing can be concluded from the loss of one.
            void: run.clock_step.map(|step| step.to_string()).or(verdict.void),
            found,
            complaints,
        }
    }
}

fn warning(phases: &[Phase], recovery_seconds: Option<f64>, max_rss_mib: f64) -> Option<String> {
    let mut figures = vec![("maxRssMib", max_rss_mib, MAX_RSS_MIB)];
    figures.extend(recovery_seconds.map(|seconds| ("recoverySeconds", seconds, MAX_RECOVERY.as_secs_f64())));
    for phase in phases {
        let compared = [("processorRatio", phase.processor_ratio()), ("queueMillis", phase.queue_millis())];
        figures
            .extend(compared.iter().filter_map(|(name, figure)| Some((*name, figure.median?, figure.limit))));
    }
    near_limit::warning(&figures)
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
            let PhaseReport { name, recovery_seconds, max_rss_mib, counts, .. } = phase;
            writeln!(
                out,
                "{name}: {} calls, {} wrong, recovery {:.1} s, {max_rss_mib:.0} MiB",
                counts.calls,
                counts.wrong_statuses,
                recovery_seconds.unwrap_or(f64::NAN),
            )?;
            for (name, figure) in [
                ("processor time per read, ratio", &phase.processor_ratio),
                ("in the server per read, ms more", &phase.queue_millis),
                ("p95 of reads, ratio", &phase.p95_ratio),
            ] {
                let Compared { median, limit, over, pairs } = figure;
                let (median, pairs) = (median.unwrap_or(f64::NAN), pairs.len());
                writeln!(out, "  {name}: {median:.2}; {over} of {pairs} pairs over {limit}")?;
            }
        }
        let StallFigures { stalls, longest_stall_millis, .. } = self.stalls;
        writeln!(
            out,
            "{stalls} stalls, the longest of {longest_stall_millis} ms; {} of {} reads left out, {} pairs starved",
            self.reads_left_out, self.reads, self.starved_pairs
        )?;
        if let Some(warning) = &self.warning {
            writeln!(out, "warning: {warning}")?;
        }
        writeln!(out, "{} violations in {} s, seed {}", self.found.violations, self.seconds, self.seed)
    }
}

impl PhaseReport {
    fn new(phase: &Phase) -> Self {
        Self {
            name: phase.name.clone(),
            seconds: phase.lasted.as_secs_f64(),
            p95_ratio: phase.p95_ratio(),
            processor_ratio: phase.processor_ratio(),
            queue_millis: phase.queue_millis(),
            recovery_seconds: phase.recovery.map(|time| time.as_secs_f64()),
            settled_seconds: phase.settled.as_secs_f64(),
            max_rss_mib: phase.max_rss_mib,
            counts: phase.counts.clone(),
            windows: phase
                .pairs
                .iter()
                .map(|pair| {
                    [WindowReport::new("quiet", &pair.quiet), WindowReport::new("attack", &pair.attack)]
                })
                .collect(),
            attack: phase.attack.clone(),
        }
    }
}

impl WindowReport {
    fn new(side: &'static str, window: &Window) -> Self {
        Self {
            side,
            reads: window.reads.count,
            left_out: window.reads.left_out,
            p95_ms: window.reads.p95.map(|time| time.as_secs_f64() * 1e3),
            processor_ms: window.server.processor_per_read(),
            processor_wait_ms: window.server.processor_wait_per_read(),
            in_server_ms: window.server.in_server_per_read(),
        }
    }
}

impl ControlReport {
    fn new(control: &Control) -> Self {
        Self { harmed: shows_harm(control), counts: control.counts.clone() }
    }
}
