//! A finding: a property that did not hold, with the evidence; and all findings of a campaign.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::parts::output::print_progress;

const MAX_FINDINGS: usize = 20;
const MAX_FINDINGS_PER_PROPERTY: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// `L1` to `L19` of a lock, `D1` to `D13` of deployments, `G1` to `G7` of lasting environments, `G8` to
    /// `G12` of approvals, `S1` to `S4` of steps of registries, `V1` to `V5` of verdicts,
    /// `F1` to `F4` of fixes, `P1` to `P4` of provenance, `U1` to `U3` of an upgrade, `R1` and `R2` of
    /// a restore, or `internal` for a response that must never be sent.
    pub(crate) property: &'static str,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(property: &'static str, text: impl Into<String>) -> Self {
        Self { property, text: text.into() }
    }
}

/// As it appears in a report.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FindingSummary {
    pub(crate) violations: usize,
    pub(crate) violations_by_property: BTreeMap<&'static str, usize>,
    pub(crate) findings: Vec<Finding>,
}

impl FindingSummary {
    pub(crate) fn add(&mut self, findings: Vec<Finding>) {
        self.violations += findings.len();
        for finding in findings {
            let count = self.violations_by_property.entry(finding.property).or_default();
            *count += 1;
            // A defect that shows everywhere must not hide another.
            if self.findings.len() < MAX_FINDINGS && *count <= MAX_FINDINGS_PER_PROPERTY {
                print_progress(&format!("found {}: {}", finding.property, finding.text));
                self.findings.push(finding);
            }
        }
    }

    pub(crate) fn count(&self, property: &str) -> usize {
        self.violations_by_property.get(property).copied().unwrap_or(0)
    }
}
