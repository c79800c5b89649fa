//! The result of the campaign, for programs and people.

use std::io::Write;

use serde::Serialize;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::finding::{Finding, FindingSummary};
use crate::fault::verdicts::judge::Judgment;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    #[serde(flatten)]
    judgment: Judgment,
    /// The deployments between them that have succeeded.
    good_deployments: usize,
    /// The longest; null if not measured.
    evidence_seconds_10_mb: Option<f64>,
    /// The first of them includes the time for the templates of the good runs.
    evidence_seconds_10_mb_of_each: Vec<f64>,
    /// The build of this program, and of the product's programs beside it.
    build: &'static str,
    seed: u64,
    pub(super) seconds: u64,
    #[serde(flatten)]
    found: FindingSummary,
}

impl Report {
    pub(super) fn new(
        seed: u64,
        good_deployments: usize,
        long_logs: Vec<f64>,
        judgment: Judgment,
        findings: Vec<Finding>,
    ) -> Self {
        let mut found = FindingSummary::default();
        found.add(findings);
        Self {
            judgment,
            good_deployments,
            evidence_seconds_10_mb: long_logs.iter().copied().max_by(f64::total_cmp),
            evidence_seconds_10_mb_of_each: long_logs,
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
            seed,
            seconds: 0,
            found,
        }
    }
}

impl CampaignReport for Report {
    fn found(&self) -> &FindingSummary {
        &self.found
    }

    fn void(&self) -> Option<&str> {
        self.judgment.void.as_deref()
    }

    fn clock_stepped(&self) -> bool {
        false
    }

    fn write_summary(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Judgment { deployments, right, right_rate, outages_called_yours, .. } = &self.judgment;
        writeln!(
            out,
            "{right} of {deployments} verdicts are right ({right_rate}), among {} good deployments",
            self.good_deployments
        )?;
        for (kind, count) in &self.judgment.by_kind {
            writeln!(out, "  {kind:?}: {} of {}", count.right, count.deployments)?;
        }
        writeln!(out, "{outages_called_yours} failures by outages are called `yours`")?;
        let (shared, collided) = (self.judgment.fingerprints_shared, self.judgment.fingerprints_collided);
        writeln!(
            out,
            "fingerprints: {shared} of the causes share one, {collided} collide with another cause"
        )?;
        if let Some(seconds) = self.evidence_seconds_10_mb {
            writeln!(out, "evidence of 10 MB can be read after {seconds} s ({} build)", self.build)?;
        }
        self.judgment.wrong.iter().try_for_each(|wrong| writeln!(out, "wrong: {wrong}"))
    }
}
