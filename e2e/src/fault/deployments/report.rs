//! The result of a campaign against deployments, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use crate::fault::clock::{CLOCK_STEPPED, Step};
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::history::Request;
use crate::fault::deployments::ledger::Ledger;
use crate::fault::deployments::misfortunes::Told;
use crate::fault::deployments::target::Word;
use crate::fault::finding::Found;

/// One in so many has to succeed: where nearly nothing runs to its end, little can be said about it.
const LEAST_SUCCEEDED: usize = 5;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Accepted, or nobody knows whether they were.
    pub(crate) deployments: u64,
    /// Acknowledged to whoever asked.
    pub(crate) accepted: usize,
    /// Of those in the database.
    pub(crate) ended: usize,
    pub(crate) ended_by_status: BTreeMap<String, usize>,
    pub(crate) teardowns: usize,
    /// Attempts of stages, and how many of them the platform lost.
    pub(crate) attempts: usize,
    pub(crate) attempts_lost: usize,
    /// Steps that the target has heard of.
    pub(crate) steps: usize,
    pub(crate) lost: usize,
    pub(crate) stuck: usize,
    pub(crate) stale_effects: usize,
    /// Words that the target refused because of their fence.
    pub(crate) refused_at_target: usize,
    pub(crate) duplicates: usize,
    pub(crate) overlaps: usize,
    pub(crate) faults: u64,
    /// Of those, how many hit a step at work.
    pub(crate) faults_while_working: u64,
    pub(crate) faults_by_kind: BTreeMap<Fault, u64>,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    pub(crate) planted: Option<String>,
    /// Why this run proves nothing, or null.
    pub(crate) void: Option<String>,
    /// Whether the system clock was stepped during the run. Such a run is void whatever it has found.
    pub(crate) clock_stepped: bool,
    #[serde(flatten)]
    pub(crate) found: Found,
}

impl Report {
    pub(crate) fn count(&mut self, requests: &[Request], ledger: &Ledger, words: &[Word], told: &Told) {
        self.accepted = requests.iter().filter(|request| !request.answers.is_empty()).count();
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
        let steps: std::collections::HashSet<_> = words.iter().map(|word| &word.step).collect();
        self.steps = steps.len();
        self.refused_at_target = words.iter().filter(|word| !word.accepted).count();
        self.faults = told.faults.len() as u64;
        self.faults_while_working = told.hits;
        for fault in &told.faults {
            *self.faults_by_kind.entry(*fault).or_default() += 1;
        }
    }

    /// Counts the findings by kind and decides whether the run is void. Findings are violations also in a void run, unless the
    /// system clock was stepped.
    pub(crate) fn judge(&mut self, step: Option<Step>) {
        (self.lost, self.stuck) = (self.found.of("D1"), self.found.of("D2"));
        (self.stale_effects, self.duplicates) = (self.found.of("D3"), self.found.of("D4"));
        self.overlaps = self.found.of("D5");
        let succeeded = self.ended_by_status.get("succeeded").copied().unwrap_or(0);
        if LEAST_SUCCEEDED * succeeded < self.ended {
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
        let Self { deployments, accepted, ended, teardowns, faults, .. } = self;
        writeln!(
            out,
            "{deployments} deployments ({accepted} accepted), {ended} ended with {teardowns} teardowns, {faults} faults"
        )?;
        writeln!(out, "{} violations in {} s, seed {}", self.found.violations, self.seconds, self.seed)?;
        if let Some(void) = &self.void {
            writeln!(out, "void: {void}")?;
        }
        Ok(())
    }
}
