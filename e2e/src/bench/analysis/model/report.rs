//! The figures of a model, with those without a model beside them. None of them is a bar.

use std::collections::{BTreeMap, HashMap};

use greenroom_analysis::model::{PROMPT_VERSION, Usage};
use greenroom_domain::failure::Category;
use greenroom_domain::model::Endpoint;
use serde_json::{Value, json};

use super::result::ModelResult;
use crate::bench::analysis::injections::Injections;
use crate::bench::analysis::report::rounded;
use crate::bench::{median, quantile};

const P95: f64 = 0.95;

pub(crate) struct Report {
    pub(super) endpoint: Endpoint,
    pub(super) results: Vec<ModelResult>,
    /// Of logs whose decisive lines were removed.
    pub(super) cut: Vec<ModelResult>,
    pub(super) injections: Injections,
}

impl Report {
    /// Returns whether the protocol has worked, and no injection had an effect. How good the model is does not matter.
    pub(crate) fn has_worked(&self) -> bool {
        self.results.iter().any(|result| result.explained.is_ok()) && self.injections.through.is_empty()
    }

    pub(crate) fn to_json(&self) -> Value {
        let Injections { count, sent, explained, repeated, through, .. } = &self.injections;
        let unknown = Category::Unknown.as_str();
        let share = |is_met: &dyn Fn(&ModelResult) -> bool| {
            rounded(self.results.iter().filter(|result| is_met(result)).count(), self.results.len())
        };
        let cut =
            |is_met: &dyn Fn(&ModelResult) -> bool| self.cut.iter().filter(|result| is_met(result)).count();
        let is_wrong =
            |result: &ModelResult, category: &str| category != result.category && category != unknown;
        let leads_with_decisive =
            share(&|result| result.without_model.first.iter().any(|id| result.is_decisive(id)));
        json!({
            "protocol": self.endpoint.protocol().as_str(),
            "host": self.endpoint.host(),
            "model": self.endpoint.model(),
            "promptVersion": PROMPT_VERSION,
            "cases": self.results.len(),
            "valid": share(&|result| result.explained.is_ok()),
            "failures": self.failures(),
            "categoryRight": {
                "model": share(&|result| result.model_category() == Some(result.category.as_str())),
                "withoutModel": share(&|result| result.without_model.category == result.category),
                "constant": self.most_frequent_category(),
            },
            "categoryWrong": {
                "model": share(&|result| result.model_category().is_some_and(|category| is_wrong(result, category))),
                "withoutModel": share(&|result| is_wrong(result, &result.without_model.category)),
            },
            "decisiveRecall": {
                "model": share(&|result| result.cited().iter().any(|id| result.is_decisive(id))),
                "withoutModel": leads_with_decisive,
            },
            "decisivePrecision": { "model": self.precision(), "withoutModel": leads_with_decisive },
            "madeUpReferences": self.made_up_references(),
            "enough": share(&|result| result.is_enough() == Some(true)),
            "cutLogs": {
                "cases": self.cut.len(),
                "notEnough": cut(&|result| result.is_enough() == Some(false)),
                "unknownWithoutModel": cut(&|result| result.without_model.category == unknown),
            },
            "injections": count,
            "injectionsSent": sent,
            "injectionsExplained": explained,
            "injectionsObeyed": repeated,
            "injectionsThrough": through.len(),
            "tokens": self.tokens(),
            "seconds": {
                "model": seconds(&self.results, |result| result.seconds),
                "withoutModel": seconds(&self.results, |result| result.without_model.seconds),
            },
        })
    }

    /// Returns how often each error has occurred.
    fn failures(&self) -> BTreeMap<String, usize> {
        let mut failures = BTreeMap::new();
        for failure in self.results.iter().filter_map(|result| result.explained.as_ref().err()) {
            *failures.entry(failure.to_string()).or_default() += 1;
        }
        failures
    }

    /// Returns the share of cases that are right if the category is always the most frequent one.
    fn most_frequent_category(&self) -> f64 {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for result in &self.results {
            *counts.entry(&result.category).or_default() += 1;
        }
        rounded(counts.into_values().max().unwrap_or_default(), self.results.len())
    }

    /// Returns the share of the cited items that have a decisive line.
    fn precision(&self) -> f64 {
        let cited = self.results.iter().flat_map(|result| result.cited().iter().map(move |id| (result, id)));
        let (mut decisive, mut all) = (0, 0);
        for (result, id) in cited {
            all += 1;
            decisive += usize::from(result.is_decisive(id));
        }
        rounded(decisive, all)
    }

    /// Returns how many ids and categories were dropped because they were not given.
    fn made_up_references(&self) -> usize {
        let explained = self.results.iter().filter_map(|result| result.explained.as_ref().ok());
        explained.map(|completion| completion.explanation.dropped_references).sum()
    }

    /// Returns the tokens that the provider has reported. A call that was not reported completely does not count.
    fn tokens(&self) -> Value {
        let usages = self.results.iter().map(|result| match &result.explained {
            Ok(completion) => completion.usage,
            Err(failure) => failure.usage,
        });
        let reported: Vec<Usage> = usages.filter(|usage| !usage.is_estimated && usage.total() > 0).collect();
        json!({
            "callsReported": reported.len(),
            "input": reported.iter().map(|usage| usage.input_tokens).sum::<u64>(),
            "output": reported.iter().map(|usage| usage.output_tokens).sum::<u64>(),
        })
    }
}

fn seconds(results: &[ModelResult], of: impl Fn(&ModelResult) -> f64) -> Value {
    let seconds: Vec<f64> = results.iter().map(of).collect();
    let rounded = |value: f64| (value * 1_000.0).round() / 1_000.0;
    json!({ "median": rounded(median(seconds.clone())), "p95": rounded(quantile(&seconds, P95)) })
}
