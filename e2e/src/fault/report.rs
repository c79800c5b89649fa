//! The result of a campaign, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Step;
use crate::fault::faults::Fault;
use crate::fault::finding::FindingSummary;
use crate::fault::history::{Op, Outcome};
use crate::fault::outages::OutageFigures;
use crate::fault::round::MIN_RATE;
use crate::parts::stalls::StallFigures;

/// Below this share of unknown outcomes the faults were too weak to show anything.
const MIN_UNKNOWN_SHARE: f64 = 0.01;
/// Below this number of operations, shares are not meaningful.
const MIN_OPS_FOR_SHARES: u64 = 2_000;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) ops: u64,
    pub(crate) ok: u64,
    pub(crate) refused: u64,
    pub(crate) unknown: u64,
    pub(crate) unknown_by_reason: BTreeMap<&'static str, u64>,
    pub(crate) faults: u64,
    pub(crate) faults_by_kind: BTreeMap<Fault, u64>,
    #[serde(flatten)]
    pub(crate) found: FindingSummary,
    /// What the outages have shown; omitted without outages.
    #[serde(flatten)]
    pub(crate) outages: Option<OutageFigures>,
    /// The lowest throughput right before a fault; null without faults.
    pub(crate) min_ops_per_second: Option<f64>,
    pub(crate) sessions: usize,
    pub(crate) events: usize,
    pub(crate) seconds: u64,
    /// The stalls of the machine. Stalled time is not counted in rates and timeouts.
    #[serde(flatten)]
    pub(crate) stalls: StallFigures,
    pub(crate) seed: u64,
    pub(crate) planted: Option<String>,
    /// Why this run proves nothing, or null.
    pub(crate) void: Option<String>,
    /// Whether the system clock was stepped during the run. Such a run is void whatever it has found.
    pub(crate) clock_stepped: bool,
}

impl Report {
    /// Returns whether a property other than throughput was violated. A busy machine may be the cause of low
    /// throughput.
    pub(crate) fn has_property_violation(&self) -> bool {
        self.found.violations_by_property.keys().any(|property| *property != "L10")
    }

    pub(crate) fn count_unknown(&mut self, history: &[Op]) {
        for op in history {
            if let Outcome::Unknown(reason) = op.outcome {
                *self.unknown_by_reason.entry(reason).or_default() += 1;
            }
        }
    }

    /// Decides whether the run is void. Findings are violations also in a void run, unless the system clock
    /// was stepped.
    pub(crate) fn judge(&mut self, step: Option<Step>) {
        if let Some(rate) = self.min_ops_per_second.filter(|rate| *rate < MIN_RATE) {
            self.void = Some(format!("only {rate:.0} ops/s right before a fault, {MIN_RATE:.0} are needed"));
        } else if self.ops >= MIN_OPS_FOR_SHARES
            && self.faults > 0
            && (self.unknown as f64) < MIN_UNKNOWN_SHARE * self.ops as f64
        {
            self.void = Some("under 1 % of the outcomes are unknown: the faults were too weak".to_owned());
        }
        if let Some(void) = self.outages.as_ref().and_then(OutageFigures::void) {
            self.void = self.void.take().or(Some(void));
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
        let (ops, ok, refused, unknown) = (self.ops, self.ok, self.refused, self.unknown);
        writeln!(
            out,
            "{ops} operations ({ok} ok, {refused} refused, {unknown} unknown), {} faults",
            self.faults
        )?;
        writeln!(out, "{} violations in {} s, seed {}", self.found.violations, self.seconds, self.seed)?;
        if let Some(outages) = &self.outages {
            outages.write_summary(out)?;
        }
        if (1..MIN_OPS_FOR_SHARES).contains(&self.ops) {
            writeln!(out, "the run is too small to judge the share of unknown outcomes")?;
        }
        Ok(())
    }
}
