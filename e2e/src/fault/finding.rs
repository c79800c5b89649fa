//! A finding: a property that did not hold, and what shows it; and all that a campaign has found.

use std::collections::BTreeMap;

use serde::Serialize;

const SHOWN: usize = 20;
const SHOWN_OF_PROPERTY: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// `L1` to `L12` of a lock, `D1` to `D10` of deployments, or `internal` for an answer that must never be given.
    pub(crate) property: &'static str,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(property: &'static str, text: impl Into<String>) -> Self {
        Self { property, text: text.into() }
    }
}

/// As it stands in a report.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Found {
    pub(crate) violations: usize,
    pub(crate) violations_by_property: BTreeMap<&'static str, usize>,
    pub(crate) findings: Vec<Finding>,
}

impl Found {
    pub(crate) fn add(&mut self, findings: Vec<Finding>) {
        self.violations += findings.len();
        for finding in findings {
            let of_property = self.violations_by_property.entry(finding.property).or_default();
            *of_property += 1;
            // A defect that shows everywhere must not hide another.
            if self.findings.len() < SHOWN && *of_property <= SHOWN_OF_PROPERTY {
                self.findings.push(finding);
            }
        }
    }

    pub(crate) fn of(&self, property: &str) -> usize {
        self.violations_by_property.get(property).copied().unwrap_or(0)
    }
}
