//! What the model of an endpoint makes of the failures of the corpus, and beside it what is found without a model. Context,
//! prompt, schema, limits, client and the check of responses are the product's.

mod cut;
mod report;
mod result;

use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use greenroom_analysis::model::{HttpModel, Limits, OutboundTransport};
use greenroom_domain::model::{Endpoint, ModelProtocol};
use greenroom_domain::secret::Secret;
use greenroom_outbound::{AllowList, OutboundClient, Purpose, Requester};

use self::report::Report;
use self::result::{Measured, ModelResult};
use super::injections::{Target, measure_with};
use super::layout::NoisePool;
use super::runs::{CaseRuns, FailedRun};
use crate::bench::print_progress;
use crate::corpus::case::{self, Case};

const KEY_VARIABLE: &str = "GREENROOM_MODEL_KEY";
/// If none of the first responses is valid, the others are not requested.
const MAX_FIRST_FAILURES: usize = 5;

#[derive(Debug, Args)]
pub(super) struct ModelOptions {
    /// Measure the model of this endpoint instead, such as http://127.0.0.1:8080/v1. If it needs a key, that is read from the
    /// environment variable GREENROOM_MODEL_KEY.
    #[arg(long = "model", value_name = "URL")]
    address: Option<String>,
    /// The provider's name of the model. Servers that have one model ignore it.
    #[arg(long, value_name = "NAME", default_value = "local", requires = "address")]
    model_name: String,
    /// `openai` (chat completions, as most providers and model servers have them) or `anthropic` (messages).
    #[arg(long, default_value = "openai", requires = "address")]
    protocol: ModelProtocol,
    /// How many cases of the corpus the model gets, spread over all of them. Default: all.
    #[arg(long, requires = "address", value_parser = clap::value_parser!(u16).range(1..))]
    cases: Option<u16>,
}

impl ModelOptions {
    pub(super) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }
}

/// Fails if the endpoint gives no valid response to the first requests.
pub(super) async fn run(
    options: &ModelOptions,
    address: &str,
    corpus: &Path,
    injections: usize,
) -> anyhow::Result<Report> {
    let cases = case::read_all(corpus)?;
    let endpoint = Endpoint::new(options.protocol, address, &options.model_name)?;
    let key = key()?;
    let limits = Limits::default();
    let transport = transport()?;
    let model = HttpModel::new(transport.clone(), endpoint.clone());
    let measured = Measured { model: &model, key: key.as_ref(), limits: &limits };
    let mut pool = NoisePool::new();

    let selected = spread(&cases, options.cases.map_or(cases.len(), usize::from));
    let mut results: Vec<ModelResult> = Vec::new();
    for case in &selected {
        let runs = CaseRuns::read(corpus, case)?;
        let run = runs.failed.first().context("the corpus has no failed runs")?;
        let result = measured.explain(&runs, run, &mut pool).await?;
        print_progress(&format!("case {} of {}: {}", results.len() + 1, selected.len(), result.summary()));
        results.push(result);
        if results.len() == MAX_FIRST_FAILURES && results.iter().all(|result| result.explained.is_err()) {
            bail!("none of the first {MAX_FIRST_FAILURES} responses is valid");
        }
    }

    let mut cut = Vec::new();
    for name in cut::CASES {
        let case = cases.iter().find(|case| case.name == name);
        let case = case.with_context(|| format!("the corpus has no case {name}"))?;
        let runs = CaseRuns::read(corpus, case)?;
        let run = runs.failed.first().context("the corpus has no failed runs")?;
        let run =
            FailedRun { name: format!("{} cut", run.name), output: cut::cut(&run.output, &case.decisive) };
        let result = measured.explain(&runs, &run, &mut pool).await?;
        print_progress(&format!("cut log {} of {}: {}", cut.len() + 1, cut::CASES.len(), result.summary()));
        cut.push(result);
    }

    // An endpoint that rejects the schema gets one more request.
    let max_requests = limits.max_attempts() + 1;
    let target = Target { transport, endpoint: endpoint.clone(), key: key.as_ref(), limits, max_requests };
    let progress = |number: usize| print_progress(&format!("injection {} of {injections}", number + 1));
    let injected = spread(&cases, injections);
    let injections = measure_with(corpus, &injected, injections, &[target], progress).await?;
    for effect in &injections.through {
        print_progress(effect);
    }
    Ok(Report { endpoint, results, cut, injections })
}

/// Returns this many of the cases, at the same distance from each other.
fn spread(cases: &[Case], count: usize) -> Vec<&Case> {
    let count = count.min(cases.len());
    (0..count).filter_map(|number| cases.get(number * cases.len() / count)).collect()
}

fn key() -> anyhow::Result<Option<Secret>> {
    let Some(value) = std::env::var_os(KEY_VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    // The error does not contain the key.
    let key = Secret::new(value.into_encoded_bytes());
    Ok(Some(key.with_context(|| format!("{KEY_VARIABLE} is not valid"))?))
}

/// The user of this machine has named the address, so that every network is allowed.
fn transport() -> anyhow::Result<OutboundTransport> {
    let networks = AllowList::new(["model=0.0.0.0/0".parse()?, "model=::/0".parse()?]);
    Ok(OutboundTransport::new(OutboundClient::new(networks), Requester::operator(Purpose::Model)))
}

#[cfg(test)]
#[path = "model/tests.rs"]
mod tests;
