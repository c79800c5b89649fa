//! The result of a campaign against deployments, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Step;
use crate::fault::deployments::fault_driver::DriverResult;
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::footprint::Footprint;
use crate::fault::deployments::history::Request;
use crate::fault::deployments::ledger::Ledger;
use crate::fault::deployments::restore::RestoreFigures;
use crate::fault::deployments::target::TargetReport;
use crate::fault::deployments::upgrade::UpgradeFigures;
use crate::fault::finding::FindingSummary;
use crate::parts::stalls::StallFigures;

/// One deployment in this many has to succeed. If almost nothing runs to its end, the run proves little.
const MAX_ENDED_PER_SUCCEEDED: usize = 5;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Deployments that were accepted or whose acceptance is unknown.
    pub(crate) deployments: u64,
    /// Deployments that were acknowledged to the client.
    pub(crate) accepted: usize,
    /// Deployments in the database.
    pub(crate) ended: usize,
    pub(crate) ended_by_status: BTreeMap<String, usize>,
    pub(crate) teardowns: usize,
    /// Attempts of stages, and how many of them the platform lost.
    pub(crate) attempts: usize,
    pub(crate) attempts_lost: usize,
    /// Steps that reported to the target.
    pub(crate) steps: usize,
    pub(crate) lost: usize,
    pub(crate) stuck: usize,
    pub(crate) stale_effects: usize,
    /// Reports that the target rejected because of their fence.
    pub(crate) refused_at_target: usize,
    pub(crate) duplicates: usize,
    pub(crate) overlaps: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upgrade: Option<UpgradeFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restore: Option<RestoreFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) footprint_before: Option<Vec<Footprint>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) footprint_after: Option<Vec<Footprint>>,
    pub(crate) faults: u64,
    /// Faults that hit a step at work.
    pub(crate) faults_while_working: u64,
    pub(crate) faults_by_kind: BTreeMap<Fault, u64>,
    pub(crate) seconds: u64,
    /// The stalls of the machine. Stalled time is not counted in the timeouts of D10.
    #[serde(flatten)]
    pub(crate) stalls: StallFigures,
    pub(crate) seed: u64,
    pub(crate) planted: Option<String>,
    /// Why this run proves nothing, or null.
    pub(crate) void: Option<String>,
    /// Whether the system clock was stepped during the run. Such a run is void whatever it has found.
    pub(crate) clock_stepped: bool,
    #[serde(flatten)]
    pub(crate) found: FindingSummary,
}

impl Report {
    pub(crate) fn count(
        &mut self,
        requests: &[Request],
        ledger: &Ledger,
        reports: &[TargetReport],
        result: &DriverResult,
    ) {
        self.accepted = requests.iter().filter(|request| !request.responses.is_empty()).count();
        for row in &ledger.deployments {
            self.teardowns += usize::from(row.purpose == "teardown");
            if row.ended_at.is_some() {
                self.ended += 1;
                *self.ended_by_status.entry(row.status.clone()).or_default() += 1;
            }
        }
        self.attempts = ledger.jobs.len();
        let lost = |reason: &str| matches!(reason, "runner_lost" | "abandoned");
        self.attempts_lost = ledger.jobs.iter().filter(|job| job.reason.as_deref().is_some_and(lost)).count();
        let steps: std::collections::HashSet<_> = reports.iter().map(|report| &report.step).collect();
        self.steps = steps.len();
        self.refused_at_target = reports.iter().filter(|report| !report.accepted).count();
        self.faults = result.faults.len() as u64;
        self.faults_while_working = result.hits;
        for fault in &result.faults {
            *self.faults_by_kind.entry(*fault).or_default() += 1;
        }
    }

    /// Counts the findings by kind and decides whether the run is void. Findings are violations also in a
    /// void run, unless the system clock was stepped.
    pub(crate) fn judge(&mut self, step: Option<Step>) {
        (self.lost, self.stuck) = (self.found.count("D1"), self.found.count("D2"));
        (self.stale_effects, self.duplicates) = (self.found.count("D3"), self.found.count("D4"));
        self.overlaps = self.found.count("D5");
        let succeeded = self.ended_by_status.get("succeeded").copied().unwrap_or(0);
        if MAX_ENDED_PER_SUCCEEDED * succeeded < self.ended {
            self.void = Some(format!("only {succeeded} of {} deployments have succeeded", self.ended));
        } else if 2 * self.faults_while_working < self.faults {
            let text = format!(
                "only {} of {} faults came while a step was at work",
                self.faults_while_working, self.faults
            );
            self.void = Some(text);
        }
        if let Some(step) = step {
            (self.void, self.clock_stepped) = (Some(step.to_string()), true);
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
        let Self { deployments, accepted, ended, teardowns, faults, .. } = self;
        writeln!(
            out,
            "{deployments} deployments ({accepted} accepted), {ended} ended with {teardowns} teardowns, {faults} faults"
        )?;
        if let Some(figures) = &self.upgrade {
            writeln!(out, "upgraded: {}", serde_json::to_string(figures)?)?;
        }
        if let Some(figures) = &self.restore {
            writeln!(out, "restored: {}", serde_json::to_string(figures)?)?;
        }
        for (when, parts) in [("before", &self.footprint_before), ("after", &self.footprint_after)] {
            for part in parts.iter().flatten() {
                writeln!(out, "{when}: {}", serde_json::to_string(part)?)?;
            }
        }
        writeln!(out, "{} violations in {} s, seed {}", self.found.violations, self.seconds, self.seed)?;
        Ok(())
    }
}
