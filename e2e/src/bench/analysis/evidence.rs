//! What the analysis shows of one case.

use std::path::Path;

use greenroom_analysis::fingerprint;
use greenroom_analysis::reduce::{Budget, Reduction};

use super::layout::{Layout, NoisePool};
use super::runs::{CaseRuns, FailedRun, Reduced};
use super::simple::{LINE_COUNTS, grep, tail};
use crate::corpus::case::Case;

/// All cases are of the same step, so that fingerprints can only differ by what is decisive.
const STEP_KEY: &str = "deploy/main";

/// What is shown of one failed run.
#[derive(Clone, Debug, Default)]
pub(super) struct RunResult {
    pub(super) is_first: bool,
    pub(super) is_shown: bool,
    pub(super) is_shown_trailing: bool,
    pub(super) is_shown_in_drift: bool,
    pub(super) is_shown_without_baseline: bool,
    /// By `LINE_COUNTS`.
    pub(super) tail: [bool; LINE_COUNTS.len()],
    pub(super) grep: [bool; LINE_COUNTS.len()],
    pub(super) category: String,
    pub(super) fingerprint: String,
    decisive: String,
    shown: String,
}

pub(super) struct CaseResult {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) is_held_out: bool,
    pub(super) category: String,
    pub(super) runs: Vec<RunResult>,
}

impl CaseResult {
    pub(super) fn measure(corpus: &Path, case: &Case, pool: &mut NoisePool) -> anyhow::Result<Self> {
        let case_runs = CaseRuns::read(corpus, case)?;
        let runs = case_runs.failed.iter().map(|run| Self::measure_run(&case_runs, run, pool)).collect();
        let is_held_out = case.is_held_out();
        let (name, kind, category) = (case.name.clone(), case.kind.clone(), case.category.clone());
        Ok(Self { name, kind, is_held_out, category, runs })
    }

    fn measure_run(runs: &CaseRuns<'_>, run: &FailedRun, pool: &mut NoisePool) -> RunResult {
        let expected = &runs.case.decisive;
        let mut reduce = |layout: Layout, has_baseline: bool, budget: Budget| {
            let Reduced { reduction, log, .. } = runs.reduce(run, pool, layout, has_baseline, budget);
            let lines = run.decisive_lines(expected, &log);
            let is_shown = shows(&reduction, &lines, budget.lines);
            (reduction, log, is_shown)
        };
        let (reduction, log, is_shown) = reduce(Layout::Plain, true, Budget::HEADLINE);
        let (_, _, is_shown_trailing) = reduce(Layout::Trailing, true, Budget::HEADLINE);
        let (_, _, is_shown_in_drift) = reduce(Layout::Drift, true, Budget::HEADLINE);
        let (_, _, is_shown_without_baseline) = reduce(Layout::Plain, false, Budget::PANEL);
        let decisive = reduction.decisive.as_ref();
        let text = decisive.map_or("", |decisive| decisive.text.as_str());
        let template = decisive.map_or("", |decisive| decisive.template.as_str());
        RunResult {
            is_first: shows(&reduction, &run.decisive_lines(expected, &log), 1),
            is_shown,
            is_shown_trailing,
            is_shown_in_drift,
            is_shown_without_baseline,
            tail: tail(&log.text, expected),
            grep: grep(&log.text, expected),
            category: runs.category(&reduction).as_str().to_owned(),
            fingerprint: fingerprint(STEP_KEY, template).to_string(),
            decisive: text.to_owned(),
            shown: reduction
                .items
                .iter()
                .map(|item| format!("  | {}\n", item.text.replace('\n', "\n  : ")))
                .collect(),
        }
    }

    pub(super) fn are_fingerprints_equal(&self) -> bool {
        self.runs.windows(2).all(|pair| matches!(pair, [one, other] if one.fingerprint == other.fingerprint))
    }

    /// Whether something is wrong with it.
    pub(super) fn is_notable(&self) -> bool {
        !self.are_fingerprints_equal()
            || self.runs.iter().any(|run| {
                let shown = run.is_shown && run.is_shown_trailing && run.is_shown_in_drift;
                !shown || !run.is_first || !run.is_shown_without_baseline || run.category != self.category
            })
    }

    pub(super) fn summary(&self) -> String {
        let runs: Vec<String> = self.runs.iter().map(|run| run.summary(&self.category)).collect();
        let equal = if self.are_fingerprints_equal() { "" } else { "; fingerprints differ" };
        format!("{}: {}{equal}", self.name, runs.join(" · "))
    }

    pub(super) fn description(&self) -> String {
        let runs: String = self.runs.iter().map(|run| run.shown.clone() + "  ---\n").collect();
        format!("{}\n{runs}", self.summary())
    }
}

impl RunResult {
    fn summary(&self, category: &str) -> String {
        let marks = [
            (self.is_first, "not first"),
            (self.is_shown, "NOT SHOWN"),
            (self.is_shown_trailing, "not before a clean-up"),
            (self.is_shown_in_drift, "not after new lines"),
            (self.is_shown_without_baseline, "not without good runs"),
        ];
        let mut parts: Vec<String> =
            marks.iter().filter(|(is_right, _)| !is_right).map(|(_, text)| (*text).to_owned()).collect();
        if self.category != category {
            parts.push(format!("{} instead of {category}", self.category));
        }
        format!("{} [{}]", parts.join(", "), self.decisive.chars().take(90).collect::<String>())
    }
}

/// Whether one of the lines is among the first ones shown.
fn shows(reduction: &Reduction, lines: &[u64], count: usize) -> bool {
    let shown = reduction.first_lines(count);
    lines.iter().any(|line| shown.contains(line))
}
