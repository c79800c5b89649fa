//! The variables of a step, and those that a step of a registry must not have, because they would run other code than the content with
//! its digest. The server checks them when a definition is saved; this is the second check, before the step starts.

use std::collections::BTreeMap;

use greenroom_api_types::runner::{Job, JobStep, StepStarted};
use greenroom_domain::step::forbidden_variable;
use greenroom_traces::Span;

use super::step_end::Interruption;

/// The names of the platform. Only the server sets variables that begin with it.
const PLATFORM_PREFIX: &str = "GREENROOM_";

/// What a step continues the trace with, unless its definition sets this variable itself.
const TRACEPARENT: &str = "TRACEPARENT";

/// Returns the variables of a step, with the trace that it belongs to: that of its span or, if this runner records none, of its job.
pub(super) fn with_trace(step: &JobStep, span: &Span, job: &Job) -> BTreeMap<String, String> {
    let mut variables = step.variables.clone();
    if let Some(traceparent) = span.traceparent().or_else(|| job.traceparent.clone()) {
        variables.entry(TRACEPARENT.to_owned()).or_insert(traceparent);
    }
    variables
}

pub(super) fn check(step: &JobStep, started: &StepStarted) -> Result<(), Interruption> {
    let Some(registry_step) = &step.registry_step else { return Ok(()) };
    let set_by_users = step.variables.keys().filter(|name| !name.starts_with(PLATFORM_PREFIX));
    let secrets = started.secrets.iter().map(|secret| &secret.variable);
    let tokens = started.id_tokens.iter().map(|token| &token.variable);
    let mut names = set_by_users.chain(secrets).chain(tokens);
    match names.find_map(|name| forbidden_variable(name).map(|reason| (name, reason))) {
        Some((name, reason)) => Err(Interruption::ForbiddenVariable(format!(
            "the variable `{name}` can't be set on the step `{}`: {reason}",
            registry_step.uses
        ))),
        None => Ok(()),
    }
}
