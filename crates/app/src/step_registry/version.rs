//! Versions of steps: finding and yanking them.

use greenroom_api_types::step_registry::YankStepVersion;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{OrganizationId, RegistryId};
use greenroom_domain::secret::is_name;
use greenroom_domain::step::StepVersion;
use greenroom_domain::step_registry::step_subject;
use greenroom_domain::text::Reason;
use greenroom_store::step_registry::{StepRecord, StepVersionDetail, StepVersionRecord};
use greenroom_store::{Command, Store};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The place of a step: a registry, which may be deleted, and the step's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPlace {
    pub registry: RegistryId,
    pub step: String,
}

#[boxed_futures]
impl StepPlace {
    /// What can't be the name of a step does not exist.
    pub fn new(registry: RegistryId, step: &str) -> Result<Self, Failure> {
        if is_name(step) { Ok(Self { registry, step: step.to_owned() }) } else { Err(Failure::not_found()) }
    }

    pub fn key(&self) -> (RegistryId, &str) {
        (self.registry, &self.step)
    }

    /// Returns the step with its newest version.
    pub async fn find(&self, store: &Store, organization: OrganizationId) -> Result<StepRecord, Failure> {
        let found = store.registry_step(organization, self.registry, &self.step).await?;
        found.ok_or_else(Failure::not_found)
    }

    /// Returns a version of the step.
    pub async fn find_version(
        &self,
        store: &Store,
        organization: OrganizationId,
        version: &StepVersion,
    ) -> Result<StepVersionDetail, Failure> {
        let found = store.step_version(organization, self.key(), version).await?;
        found.ok_or_else(Failure::not_found)
    }
}

/// Yanks a version. Yanking it again with the same reason changes nothing; a refusal stays.
#[boxed_futures]
pub async fn yank(
    command: &mut Command,
    place: &StepPlace,
    version: &StepVersion,
    request: &YankStepVersion,
) -> Result<StepVersionRecord, Failure> {
    let reason = Reason::new(&request.reason).map_err(|error| Failure::field("/reason", error))?;
    let before = command.step_version_for_update(place.key(), version).await?;
    let before = before.ok_or_else(Failure::not_found)?;
    let refused = before.refused || request.refuse;
    if before.yank_reason.as_deref() == Some(reason.as_str()) && before.refused == refused {
        return Ok(before);
    }
    let yanked = command.yank_step_version(place.key(), version, (reason.as_str(), refused)).await?;
    command
        .record_event(NewEvent {
            event_type: EventType::StepYanked,
            subject: step_subject(place.registry, &place.step),
            before: Some(payload(place, &before)),
            after: Some(payload(place, &yanked)),
            reason: Some(reason.into_string()),
        })
        .await?;
    Ok(yanked)
}

fn payload(place: &StepPlace, version: &StepVersionRecord) -> Value {
    json!({
        "registryId": place.registry,
        "name": version.name,
        "version": version.version,
        "digest": version.digest,
        "yanked": version.yanked_at.is_some(),
        "refused": version.refused,
    })
}
