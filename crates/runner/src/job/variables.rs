//! Variables that a step of a registry must not have, because they would run other code than the content with its digest. The server
//! checks them when a definition is saved; this is the second check, before the step starts.

use greenroom_api_types::runner::{JobStep, StepStarted};
use greenroom_domain::step::forbidden_variable;

use super::step_end::Interruption;

/// The names of the platform. Only the server sets variables that begin with it.
const PLATFORM_PREFIX: &str = "GREENROOM_";

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
