//! What a reference to a step means now.

use greenroom_api_types::problem::FieldProblem;
use greenroom_api_types::step_registry::ResolvedStep;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::StepReference;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::step::{LockedStep, RegistryTrust, Unresolved, resolve as choose};
use greenroom_domain::step_registry::RegistryStatus;
use greenroom_store::step_registry::RegistryRecord;
use greenroom_store::{Store, StoreError};
use serde_json::Value;

use crate::failure::Failure;

/// Resolves the text of a reference for the API.
#[boxed_futures]
pub async fn resolve(
    store: &Store,
    organization: OrganizationId,
    uses: &str,
) -> Result<ResolvedStep, Failure> {
    let wrong = || {
        let rule = "must be a step of a registry: `registry/name@v1`, `registry/name@v1.2.3` or `registry/name@sha256:…`";
        Failure::field("/uses", rule)
    };
    let reference: StepReference =
        serde_json::from_value(Value::String(uses.to_owned())).map_err(|_| wrong())?;
    if reference.requirement().is_none() {
        return Err(wrong());
    }
    let registries = store.all_step_registries(organization).await?;
    match find(store, organization, &registries, &reference).await? {
        Ok(step) => Ok(view(uses, &step)),
        Err(unresolved) => Err(refusal(&reference, &unresolved)),
    }
}

/// Returns what a reference means now. `registries` are all of the organization.
#[boxed_futures]
pub async fn find(
    store: &Store,
    organization: OrganizationId,
    registries: &[RegistryRecord],
    reference: &StepReference,
) -> Result<Result<LockedStep, Unresolved>, StoreError> {
    let Some(requirement) = reference.requirement() else {
        let required = reference.version.clone();
        return Ok(Err(Unresolved::NoVersion { required, newest: None }));
    };
    let Some(registry) = registries.iter().find(|registry| registry.name == reference.registry) else {
        let names = registries.iter().map(|registry| registry.name.as_str());
        return Ok(Err(Unresolved::no_such_registry(reference, names)));
    };
    if registry.status == RegistryStatus::Disabled {
        return Ok(Err(Unresolved::Disabled { registry: registry.name.clone() }));
    }
    let candidates = store.step_candidates(organization, registry.id, &reference.name).await?;
    if candidates.is_empty() {
        let names = store.step_names(organization, registry.id).await?;
        let unresolved = Unresolved::no_such_step(reference, names.iter().map(String::as_str));
        return Ok(Err(unresolved));
    }
    let trust = RegistryTrust {
        require_signature: registry.require_signature,
        minimum_age_seconds: u64::try_from(registry.minimum_age_seconds).unwrap_or(0),
    };
    let now = store.resolution_time().await?;
    Ok(match choose(&requirement, &candidates, &trust, now) {
        Ok(chosen) => Ok(LockedStep {
            registry_id: registry.id,
            registry: registry.name.clone(),
            name: reference.name.clone(),
            version: chosen.version.clone(),
            digest: chosen.digest.clone(),
        }),
        Err(unresolved) => Err(unresolved),
    })
}

fn refusal(reference: &StepReference, unresolved: &Unresolved) -> Failure {
    Failure::fields(vec![FieldProblem {
        pointer: "/uses".to_owned(),
        detail: format!("can't be resolved: {unresolved}"),
        suggestion: unresolved.suggestion(reference),
        ..FieldProblem::default()
    }])
}

pub fn view(uses: &str, step: &LockedStep) -> ResolvedStep {
    ResolvedStep {
        uses: uses.to_owned(),
        registry_id: step.registry_id.to_string(),
        registry: step.registry.clone(),
        name: step.name.clone(),
        version: step.version.to_string(),
        digest: step.digest.to_string(),
    }
}
