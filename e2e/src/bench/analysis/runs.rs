//! The runs of one case in noise, reduced as in the product.

use std::path::Path;
use std::time::{Duration, Instant};

use greenroom_analysis::reduce::{Budget, Reducer, Reduction, TemplateSet};
use greenroom_analysis::rules::{Clues, categorize};
use greenroom_domain::failure::Category;

use super::layout::{Layout, Log, NoisePool, templates};
use crate::corpus::case::Case;
use crate::corpus::log::{self, RUNS, StepEnd, is_good};

pub(super) struct CaseRuns<'a> {
    pub(super) case: &'a Case,
    pub(super) end: StepEnd,
    good: Vec<TemplateSet>,
    pub(super) failed: Vec<FailedRun>,
}

pub(super) struct FailedRun {
    /// Decides which noise the run has.
    pub(super) name: String,
    /// What the case itself has printed.
    pub(super) output: String,
}

/// The evidence of a failed run.
pub(super) struct Reduced {
    pub(super) reduction: Reduction,
    pub(super) log: Log,
    /// How long the analysis took.
    pub(super) duration: Duration,
}

impl<'a> CaseRuns<'a> {
    pub(super) fn read(corpus: &Path, case: &'a Case) -> anyhow::Result<Self> {
        let (mut good, mut failed) = (Vec::new(), Vec::new());
        for run in RUNS {
            let output = log::read(corpus, &case.name, run)?;
            if is_good(run) {
                good.push(templates(&output));
            } else {
                failed.push(FailedRun { name: format!("{} {run}", case.name), output });
            }
        }
        Ok(Self { case, end: log::read_end(corpus, &case.name)?, good, failed })
    }

    pub(super) fn reduce(
        &self,
        run: &FailedRun,
        pool: &mut NoisePool,
        layout: Layout,
        has_baseline: bool,
        budget: Budget,
    ) -> Reduced {
        let log = pool.log(layout, &run.name, &run.output);
        let mut baselines = Vec::new();
        if has_baseline {
            baselines.extend_from_slice(&self.good);
            for run in RUNS.into_iter().filter(|run| is_good(run)) {
                baselines.push(pool.good_noise(layout, &format!("{} {run}", self.case.name)));
            }
        }
        let started = Instant::now();
        let mut reducer = Reducer::new(&baselines);
        reducer.push(log.text.as_bytes());
        let reduction = reducer.finish(budget);
        Reduced { reduction, log, duration: started.elapsed() }
    }

    /// Returns the category by rules.
    pub(super) fn category(&self, reduction: &Reduction) -> Category {
        let decisive = reduction.decisive.as_ref();
        let block = decisive.and_then(|decisive| reduction.items.get(decisive.item));
        categorize(&Clues {
            reason: self.end.reason.as_ref().and_then(|reason| reason.parse().ok()),
            exit_code: self.end.exit_code,
            decisive: decisive.map_or("", |decisive| decisive.text.as_str()),
            block: block.map_or("", |item| item.text.as_str()),
        })
    }
}

impl FailedRun {
    /// Returns the numbers of the decisive lines in the log.
    pub(super) fn decisive_lines(&self, decisive: &str, log: &Log) -> Vec<u64> {
        let lines = self.output.split('\n').enumerate().filter(|(_, line)| line.contains(decisive));
        lines.map(|(index, _)| (log.lines_before + index + 1) as u64).collect()
    }
}
