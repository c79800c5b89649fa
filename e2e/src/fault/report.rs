//! The result of a campaign, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use crate::fault::chapter::LEAST_RATE;
use crate::fault::clock::{CLOCK_STEPPED, Step};
use crate::fault::faults::Fault;
use crate::fault::finding::Found;
use crate::fault::history::{Op, Outcome};

/// Under this share of unknown outcomes the faults were too weak to show anything.
const LEAST_UNKNOWN: f64 = 0.01;
/// Fewer operations than this say nothing about shares.
const SMALL: u64 = 2_000;

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
    pub(crate) found: Found,
    /// The lowest throughput right before a fault; null without faults.
    pub(crate) min_ops_per_second: Option<f64>,
    pub(crate) sessions: usize,
    pub(crate) events: usize,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    pub(crate) planted: Option<String>,
    /// Why this run proves nothing, or null.
    pub(crate) void: Option<String>,
    /// Whether the system clock was stepped during the run. Such a run is void whatever it has found.
    pub(crate) clock_stepped: bool,
}

impl Report {
    /// Something was found other than slowness, which a busy machine may be the cause of.
    pub(crate) fn has_broken_a_promise(&self) -> bool {
        self.found.violations_by_property.keys().any(|property| *property != "L10")
    }

    pub(crate) fn count_unknown(&mut self, history: &[Op]) {
        for op in history {
            if let Outcome::Unknown(reason) = op.outcome {
                *self.unknown_by_reason.entry(reason).or_default() += 1;
            }
        }
    }

    /// Decides whether the run is void. Findings are violations also in a void run, unless the system clock was stepped.
    pub(crate) fn judge(&mut self, step: Option<Step>) {
        if let Some(rate) = self.min_ops_per_second.filter(|rate| *rate < LEAST_RATE) {
            self.void =
                Some(format!("only {rate:.0} ops/s right before a fault, {LEAST_RATE:.0} are needed"));
        } else if self.ops >= SMALL
            && self.faults > 0
            && (self.unknown as f64) < LEAST_UNKNOWN * self.ops as f64
        {
            self.void = Some("under 1 % of the outcomes are unknown: the faults were too weak".to_owned());
        }
        if let Some(step) = step {
            (self.void, self.clock_stepped) = (Some(step.to_string()), true);
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.clock_stepped {
            return ExitCode::from(CLOCK_STEPPED);
        }
        match (self.found.violations, &self.void) {
            (0, None) => ExitCode::SUCCESS,
            (0, Some(_)) => ExitCode::from(3),
            _ => ExitCode::FAILURE,
        }
    }

    pub(crate) fn print(&self, json: bool) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        if json {
            writeln!(out, "{}", serde_json::to_string(self)?)?;
            return Ok(());
        }
        for finding in &self.found.findings {
            writeln!(out, "{}: {}", finding.property, finding.text)?;
        }
        let (ops, ok, refused, unknown) = (self.ops, self.ok, self.refused, self.unknown);
        writeln!(
            out,
            "{ops} operations ({ok} ok, {refused} refused, {unknown} unknown), {} faults",
            self.faults
        )?;
        writeln!(out, "{} violations in {} s, seed {}", self.found.violations, self.seconds, self.seed)?;
        if let Some(void) = &self.void {
            writeln!(out, "void: {void}")?;
        }
        if self.ops < SMALL {
            writeln!(out, "too small a run to ask for a share of unknown outcomes")?;
        }
        Ok(())
    }
}
