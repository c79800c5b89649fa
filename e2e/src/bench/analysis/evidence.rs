//! What the analysis shows of one case.

use std::path::Path;

use greenroom_analysis::fingerprint;
use greenroom_analysis::reduce::{Budget, Reducer, Reduction, TemplateSet};
use greenroom_analysis::rules::{Clues, categorize};

use super::layout::{Layout, Log, NoisePool, templates};
use super::simple::{LINE_COUNTS, grep, tail};
use crate::corpus::case::Case;
use crate::corpus::log::{self, RUNS, StepEnd, is_good};

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
        let mut good = Vec::new();
        for run in RUNS.into_iter().filter(|run| is_good(run)) {
            good.push(templates(&log::read(corpus, &case.name, run)?));
        }
        let end = log::read_end(corpus, &case.name)?;
        let mut runs = Vec::new();
        for run in RUNS.into_iter().filter(|run| !is_good(run)) {
            let output = log::read(corpus, &case.name, run)?;
            runs.push(Self::measure_run(case, &format!("{} {run}", case.name), &output, &good, &end, pool));
        }
        let is_held_out = case.is_held_out();
        let (name, kind, category) = (case.name.clone(), case.kind.clone(), case.category.clone());
        Ok(Self { name, kind, is_held_out, category, runs })
    }

    fn measure_run(
        case: &Case,
        name: &str,
        output: &str,
        good: &[TemplateSet],
        end: &StepEnd,
        pool: &mut NoisePool,
    ) -> RunResult {
        let own_lines = output.split('\n').enumerate().filter(|(_, line)| line.contains(&case.decisive));
        let own_lines: Vec<usize> = own_lines.map(|(index, _)| index + 1).collect();
        let mut reduce = |layout: Layout, has_baseline: bool, budget: Budget| {
            let log = pool.log(layout, name, output);
            let mut baselines = Vec::new();
            if has_baseline {
                baselines.extend_from_slice(good);
                for run in RUNS.into_iter().filter(|run| is_good(run)) {
                    baselines.push(pool.good_noise(layout, &format!("{} {run}", case.name)));
                }
            }
            let mut reducer = Reducer::new(&baselines);
            reducer.push(log.text.as_bytes());
            let reduction = reducer.finish(budget);
            let is_shown = shows(&reduction, &log, &own_lines, budget.lines);
            (reduction, log, is_shown)
        };
        let (reduction, log, is_shown) = reduce(Layout::Plain, true, Budget::HEADLINE);
        let (_, _, is_shown_trailing) = reduce(Layout::Trailing, true, Budget::HEADLINE);
        let (_, _, is_shown_in_drift) = reduce(Layout::Drift, true, Budget::HEADLINE);
        let (_, _, is_shown_without_baseline) = reduce(Layout::Plain, false, Budget::PANEL);
        let decisive = reduction.decisive.as_ref();
        let text = decisive.map_or("", |decisive| decisive.text.as_str());
        let block = decisive.and_then(|decisive| reduction.items.get(decisive.item));
        let category = categorize(&Clues {
            reason: end.reason.as_ref().and_then(|reason| reason.parse().ok()),
            exit_code: end.exit_code,
            decisive: text,
            block: block.map_or("", |item| item.text.as_str()),
        });
        let template = decisive.map_or("", |decisive| decisive.template.as_str());
        RunResult {
            is_first: shows(&reduction, &log, &own_lines, 1),
            is_shown,
            is_shown_trailing,
            is_shown_in_drift,
            is_shown_without_baseline,
            tail: tail(&log.text, &case.decisive),
            grep: grep(&log.text, &case.decisive),
            category: category.as_str().to_owned(),
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

/// Whether one of the lines, counted from the begin of the case's own output, is among the first ones shown.
fn shows(reduction: &Reduction, log: &Log, own_lines: &[usize], count: usize) -> bool {
    let shown = reduction.first_lines(count);
    own_lines.iter().any(|line| shown.contains(&((log.lines_before + line) as u64)))
}
