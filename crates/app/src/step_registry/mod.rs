//! Step registries: creating, changing and deleting them. A worker synchronizes them (`store/step_registry/sync.rs`).

mod credential;
pub mod diff;
pub mod lock;
pub mod resolve;
pub mod version;
mod view;

use greenroom_api_types::step_registry::{CreateStepRegistry, UpdateStepRegistry};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::RegistryId;
use greenroom_domain::secret::is_name;
use greenroom_domain::step_registry::{
    AllowedSigner, MAX_MINIMUM_AGE_SECONDS, MAX_REGISTRIES, MAX_SIGNERS, RefusalKind, RegistryStatus,
    RegistryUrl, subject,
};
use greenroom_store::step_registry::{RegistryChange, RegistryContent, RegistryRecord};
use greenroom_store::{Command, StoreError};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::precondition::IfMatch;
use crate::secret::sealing::OrganizationKeys;

pub use crate::step_registry::view::{
    etag_suffix, registry_view, step_view, usage_view, version_detail_view, version_view,
};

/// Creates a registry. `keys` are needed if the request has a credential.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    keys: Option<&OrganizationKeys>,
    request: CreateStepRegistry,
) -> Result<RegistryRecord, Failure> {
    let content = RegistryContent {
        name: checked_name(&request.name)?,
        url: checked_url(&request.url)?,
        signers: checked_signers(&request.signers, request.require_signature)?,
        require_signature: request.require_signature,
        minimum_age_seconds: checked_age(request.minimum_age_seconds)?,
        status: RegistryStatus::Active,
    };
    let id = RegistryId::from(Uuid::now_v7());
    let credential = request.credential.map(|given| credential::seal(keys, (id, &content.url), given));
    let credential = credential.transpose()?;
    if command.lock_step_registry_count().await? >= MAX_REGISTRIES {
        let detail = format!(
            "An organization has {MAX_REGISTRIES} step registries at most. Delete one that is not used any more."
        );
        return Err(Failure::new(Code::InvalidState, detail).with("limit", MAX_REGISTRIES.into()));
    }
    let created = command.create_step_registry(id, &content, credential.as_ref()).await;
    let created = created.map_err(|error| name_taken(error, &content.name))?;
    record_event(command, EventType::RegistryCreated, id, (None, Some(payload(&created)))).await?;
    Ok(created)
}

/// Changes a registry. `keys` are needed if the request has a credential.
#[boxed_futures]
pub async fn update(
    command: &mut Command,
    keys: Option<&OrganizationKeys>,
    (id, condition): (RegistryId, &IfMatch),
    mut request: UpdateStepRegistry,
) -> Result<RegistryRecord, Failure> {
    let before = live(command, id).await?;
    condition.check(before.revision)?;
    let given = request.credential.take();
    let (old, new) = (content_of(&before), changed(&before, request)?);
    let credential = credential::change(keys, &before, &new.url, given)?;
    let changes_credential = credential.is_change();
    if old == new && !changes_credential {
        return Ok(before);
    }
    let forgotten_refusals = forgotten_refusals(&old, &new);
    let change = RegistryChange {
        content: &new,
        credential,
        forgotten_refusals,
        synchronizes: !forgotten_refusals.is_empty() || changes_credential,
    };
    let updated = command.update_step_registry(id, &change).await;
    let updated = updated.map_err(|error| name_taken(error, &new.name))?;
    let mut after = payload(&updated);
    if changes_credential {
        after["credentialChanged"] = true.into();
    }
    record_event(command, EventType::RegistryUpdated, id, (Some(payload(&before)), Some(after))).await?;
    Ok(updated)
}

/// Returns which refusals may not hold any more: their tags are read again.
fn forgotten_refusals(old: &RegistryContent, new: &RegistryContent) -> &'static [RefusalKind] {
    use RefusalKind::{Invalid, SignatureRefused, TagMoved};
    let is_enabled = old.status == RegistryStatus::Disabled && new.status != RegistryStatus::Disabled;
    if old.url != new.url || is_enabled {
        &[Invalid, SignatureRefused, TagMoved]
    } else if old.signers != new.signers || old.require_signature != new.require_signature {
        &[SignatureRefused]
    } else {
        &[]
    }
}

/// Deletes a registry. What definitions have locked goes on, because content is kept by digest. Deleting it again changes
/// nothing.
#[boxed_futures]
pub async fn delete(
    command: &mut Command,
    id: RegistryId,
    condition: &IfMatch,
) -> Result<RegistryRecord, Failure> {
    let before = command.step_registry_for_update(id).await?.ok_or_else(Failure::not_found)?;
    if before.deleted_at.is_some() {
        return Ok(before);
    }
    condition.check(before.revision)?;
    let deleted = command.delete_step_registry(id).await?;
    record_event(command, EventType::RegistryDeleted, id, (Some(payload(&before)), None)).await?;
    Ok(deleted)
}

/// Lets a worker synchronize the registry next.
#[boxed_futures]
pub async fn request_sync(command: &mut Command, id: RegistryId) -> Result<RegistryRecord, Failure> {
    let registry = live(command, id).await?;
    if registry.status == RegistryStatus::Disabled {
        let detail = "The registry is disabled. Enable it with `disabled: false`: it is synchronized then.";
        return Err(Failure::new(Code::InvalidState, detail));
    }
    Ok(command.request_registry_sync(id).await?)
}

/// Returns a registry that is not deleted, locked.
async fn live(command: &mut Command, id: RegistryId) -> Result<RegistryRecord, Failure> {
    let registry = command.step_registry_for_update(id).await?.ok_or_else(Failure::not_found)?;
    if registry.deleted_at.is_some() {
        return Err(Failure::new(Code::InvalidState, "The step registry was deleted. Create a new one."));
    }
    Ok(registry)
}

/// Returns the content of a registry with the changes of a request.
fn changed(before: &RegistryRecord, request: UpdateStepRegistry) -> Result<RegistryContent, Failure> {
    let require_signature = request.require_signature.unwrap_or(before.require_signature);
    let is_disabled = request.disabled.unwrap_or(before.status == RegistryStatus::Disabled);
    Ok(RegistryContent {
        name: request.name.as_deref().map_or_else(|| Ok(before.name.clone()), checked_name)?,
        url: request.url.as_deref().map_or_else(|| Ok(before.url.clone()), checked_url)?,
        signers: checked_signers(request.signers.as_ref().unwrap_or(&before.signers), require_signature)?,
        require_signature,
        minimum_age_seconds: request
            .minimum_age_seconds
            .map_or(Ok(before.minimum_age_seconds), checked_age)?,
        status: before.status.with_disabled(is_disabled),
    })
}

fn content_of(registry: &RegistryRecord) -> RegistryContent {
    RegistryContent {
        name: registry.name.clone(),
        url: registry.url.clone(),
        signers: registry.signers.clone(),
        require_signature: registry.require_signature,
        minimum_age_seconds: registry.minimum_age_seconds,
        status: registry.status,
    }
}

fn checked_name(name: &str) -> Result<String, Failure> {
    if is_name(name) {
        return Ok(name.to_owned());
    }
    let rule = "must be 1 to 63 characters: a small letter, then small letters, digits or hyphens";
    Err(Failure::field("/name", rule))
}

fn checked_url(text: &str) -> Result<String, Failure> {
    RegistryUrl::new(text).map(|url| url.to_string()).map_err(|error| Failure::field("/url", error))
}

fn checked_signers(texts: &[String], is_required: bool) -> Result<Vec<String>, Failure> {
    if texts.len() > MAX_SIGNERS {
        return Err(Failure::field("/signers", format!("must have {MAX_SIGNERS} entries at most")));
    }
    if is_required && texts.is_empty() {
        return Err(Failure::field("/signers", "must not be empty, because signatures are required"));
    }
    let signers = texts.iter().enumerate().map(|(at, text)| {
        let signer = AllowedSigner::new(text);
        signer
            .map(AllowedSigner::into_string)
            .map_err(|error| Failure::field(&format!("/signers/{at}"), error))
    });
    signers.collect()
}

fn checked_age(seconds: i64) -> Result<i32, Failure> {
    let seconds = Some(seconds).filter(|seconds| (0..=MAX_MINIMUM_AGE_SECONDS).contains(seconds));
    seconds.and_then(|seconds| i32::try_from(seconds).ok()).ok_or_else(|| {
        Failure::field("/minimumAgeSeconds", format!("must be between 0 and {MAX_MINIMUM_AGE_SECONDS}"))
    })
}

fn name_taken(error: StoreError, name: &str) -> Failure {
    if error.is_taken("step_registries_live_name") {
        let detail = format!("There is a step registry `{name}` already. Choose another name.");
        Failure::new(Code::RegistryNameTaken, detail)
    } else {
        error.into()
    }
}

fn payload(registry: &RegistryRecord) -> Value {
    json!({
        "id": registry.id,
        "name": registry.name,
        "url": registry.url,
        "signers": registry.signers,
        "requireSignature": registry.require_signature,
        "minimumAgeSeconds": registry.minimum_age_seconds,
        "hasCredential": registry.has_credential,
        "disabled": registry.status == RegistryStatus::Disabled,
    })
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    id: RegistryId,
    (before, after): (Option<Value>, Option<Value>),
) -> Result<(), Failure> {
    Ok(command
        .record_event(NewEvent { event_type, subject: subject(id), before, after, reason: None })
        .await?)
}
