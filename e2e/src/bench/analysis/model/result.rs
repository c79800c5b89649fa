//! What is found of one failure, by a model and without one.

use std::time::Instant;

use anyhow::Context;
use greenroom_analysis::model::{Completion, HttpModel, Limits, Model, ModelFailure, Prompt, Transport};
use greenroom_analysis::reduce::Budget;
use greenroom_domain::secret::Secret;

use crate::bench::analysis::context::{context, evidence_id};
use crate::bench::analysis::layout::{Layout, NoisePool};
use crate::bench::analysis::runs::{CaseRuns, FailedRun, Reduced};

/// The model that is measured.
pub(super) struct Measured<'a, T> {
    pub(super) model: &'a HttpModel<T>,
    pub(super) key: Option<&'a Secret>,
    pub(super) limits: &'a Limits,
}

pub(super) struct ModelResult {
    /// The right category.
    pub(super) category: String,
    /// The ids of the items with a decisive line.
    pub(super) decisive: Vec<String>,
    pub(super) without_model: WithoutModel,
    pub(super) explained: Result<Completion, ModelFailure>,
    /// Of all attempts together.
    pub(super) seconds: f64,
}

/// What the analysis finds without a model.
pub(super) struct WithoutModel {
    pub(super) category: String,
    /// The id of the item that it leads with.
    pub(super) first: Option<String>,
    pub(super) seconds: f64,
}

impl<T: Transport> Measured<'_, T> {
    /// Lets the model explain a failed run, as the product does.
    pub(super) async fn explain(
        &self,
        runs: &CaseRuns<'_>,
        run: &FailedRun,
        pool: &mut NoisePool,
    ) -> anyhow::Result<ModelResult> {
        let Reduced { reduction, log, duration } =
            runs.reduce(run, pool, Layout::Plain, true, Budget::STORED);
        let category = runs.category(&reduction).as_str().to_owned();
        let context = context(&reduction, &category, &runs.end);
        let prompt = Prompt::new(&context).context("the context is not valid")?;
        let lines = run.decisive_lines(&runs.case.decisive, &log);
        let items = reduction.items.iter().enumerate();
        let decisive = items
            .filter(|(_, item)| lines.iter().any(|line| (item.from_line..=item.to_line).contains(line)))
            .map(|(index, _)| evidence_id(index));
        let decisive = decisive.collect();
        let first = reduction.decisive.as_ref().map(|decisive| evidence_id(decisive.item));
        let started = Instant::now();
        let explained = self.model.explain(&prompt, self.key, self.limits).await;
        Ok(ModelResult {
            category: runs.case.category.clone(),
            decisive,
            without_model: WithoutModel { category, first, seconds: duration.as_secs_f64() },
            explained,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}

impl ModelResult {
    /// Returns the category that the model has selected.
    pub(super) fn model_category(&self) -> Option<&str> {
        self.explained.as_ref().ok()?.explanation.category.as_deref()
    }

    /// Returns the evidence that the model has selected.
    pub(super) fn cited(&self) -> &[String] {
        self.explained.as_ref().map_or(&[], |completion| &completion.explanation.evidence)
    }

    /// Returns whether the model considers the data enough. `None`: its response is not valid.
    pub(super) fn is_enough(&self) -> Option<bool> {
        self.explained.as_ref().ok().map(|completion| completion.explanation.is_enough)
    }

    pub(super) fn is_decisive(&self, id: &String) -> bool {
        self.decisive.contains(id)
    }

    /// Returns what happened, without what the model has concluded: a case may be held out.
    pub(super) fn summary(&self) -> String {
        match &self.explained {
            Ok(completion) => format!("{:.1} s, {} tokens", self.seconds, completion.usage.total()),
            Err(failure) => format!("{:.1} s, {failure}", self.seconds),
        }
    }
}
