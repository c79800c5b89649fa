//! Connected forges: creating, changing and deleting them, and finding the one that serves a repository. A worker calls them
//! (`worker/forge`).

use greenroom_api_types::forge::{CreateForge, Forge, ForgeCredential, UpdateForge};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::forge::{
    ForgeAddress, ForgeKind, ForgeRepository, MAX_FORGES, MAX_PATTERNS, RepositoryPattern, is_token,
    pattern as forge_pattern, subject,
};
use greenroom_domain::id::{ForgeId, OrganizationId};
use greenroom_domain::secret::{ForgeCredentialPlace, SealedValue, Secret, is_name};
use greenroom_store::forge::{ForgeContent, ForgeRecord, NewForge};
use greenroom_store::{Command, Store, StoreError};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::precondition::IfMatch;
use crate::secret::sealing::OrganizationKeys;

/// Connects a forge.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    keys: &OrganizationKeys,
    request: CreateForge,
) -> Result<ForgeRecord, Failure> {
    let name = checked_name(&request.name)?;
    let kind =
        request.kind.known().ok_or_else(|| Failure::field("/kind", "must be `github` or `forgejo`"))?;
    let address = checked_address(kind, &request.address)?;
    let repositories = match &request.repositories {
        Some(given) => checked_patterns(given)?,
        None => {
            let pattern = address.default_pattern();
            vec![pattern.map_err(|_| Failure::field("/repositories", "must be given for this address"))?]
        }
    };
    let content = ForgeContent { address: address.to_string(), repositories };
    let id = ForgeId::from(Uuid::now_v7());
    let credential = seal(keys, (id, &content.address), request.credential)?;
    if command.lock_forge_count().await? >= MAX_FORGES {
        let detail =
            format!("An organization has {MAX_FORGES} forges at most. Delete one that is not used any more.");
        return Err(Failure::new(Code::InvalidState, detail).with("limit", MAX_FORGES.into()));
    }
    let new = NewForge { id, name, kind, content: &content, credential: &credential };
    let created = command.create_forge(&new).await.map_err(|error| name_taken(error, name))?;
    record_event(command, EventType::ForgeCreated, name, (None, Some(payload(&created)))).await?;
    Ok(created)
}

/// Changes a forge. `keys` are needed if the request has a credential.
#[boxed_futures]
pub async fn update(
    command: &mut Command,
    keys: Option<&OrganizationKeys>,
    (name, condition): (&str, &IfMatch),
    request: UpdateForge,
) -> Result<ForgeRecord, Failure> {
    let before = command.forge_for_update(name).await?.ok_or_else(Failure::not_found)?;
    condition.check(before.revision)?;
    let old = ForgeContent { address: before.address.clone(), repositories: before.repositories.clone() };
    let address = match &request.address {
        Some(given) => checked_address(before.kind, given)?.to_string(),
        None => old.address.clone(),
    };
    let given = request.repositories.as_deref().map(checked_patterns).transpose()?;
    let new = ForgeContent { address, repositories: given.unwrap_or_else(|| old.repositories.clone()) };
    let credential = match (request.credential, keys) {
        (Some(given), Some(keys)) => Some(seal(keys, (before.id, &new.address), given)?),
        (Some(_), None) => {
            return Err(Failure::internal("a credential without the keys of the organization"));
        }
        (None, _) if new.address != old.address => {
            let rule = "must be sent again with another `address`, because the stored one is for the former address only";
            return Err(Failure::field("/credential", rule));
        }
        (None, _) => None,
    };
    if old == new && credential.is_none() {
        return Ok(before);
    }
    let updated = command.update_forge(before.id, &new, credential.as_ref()).await?;
    let mut after = payload(&updated);
    if credential.is_some() {
        after["credentialChanged"] = true.into();
    }
    record_event(command, EventType::ForgeUpdated, name, (Some(payload(&before)), Some(after))).await?;
    Ok(updated)
}

/// Disconnects a forge, and deletes its credential. Returns the forge as before.
#[boxed_futures]
pub async fn delete(command: &mut Command, name: &str, condition: &IfMatch) -> Result<ForgeRecord, Failure> {
    let before = command.forge_for_update(name).await?.ok_or_else(Failure::not_found)?;
    condition.check(before.revision)?;
    command.delete_forge(before.id).await?;
    record_event(command, EventType::ForgeDeleted, name, (Some(payload(&before)), None)).await?;
    Ok(before)
}

/// Returns the forge that serves a repository, by the repository's URL.
#[boxed_futures]
pub async fn for_repository(
    store: &Store,
    organization: OrganizationId,
    url: &str,
) -> Result<(ForgeRecord, ForgeRepository), Failure> {
    let Some(repository) = ForgeRepository::parse(url) else {
        let detail = "The repository is not one of a forge: its address must end with an owner and a name, such as \
                      `https://github.com/acme/shop`.";
        return Err(Failure::new(Code::ForgeNotConnected, detail));
    };
    let Some(forge) = store.forge_of(organization, &repository).await? else {
        let detail = format!(
            "No forge is connected that serves `{repository}`. An admin connects one by `POST /organizations/{{orgId}}/forges`."
        );
        return Err(Failure::new(Code::ForgeNotConnected, detail));
    };
    Ok((forge, repository))
}

pub fn view(forge: ForgeRecord) -> Forge {
    Forge {
        id: forge.id.to_string(),
        name: forge.name,
        kind: forge.kind.into(),
        address: forge.address,
        repositories: texts(&forge.repositories),
        last_used_at: forge.last_used_at,
        last_error: forge.last_error,
        created_at: forge.created_at,
        created_by: forge.created_by.to_string(),
        updated_at: forge.updated_at,
    }
}

/// Returns the part of the `ETag` for what calls change.
pub fn etag_suffix(forge: &ForgeRecord) -> String {
    forge.last_used_at.map_or_else(|| "never".to_owned(), |at| at.as_microsecond().to_string())
}

fn checked_name(name: &str) -> Result<&str, Failure> {
    let rule = "must be 1 to 63 characters: a small letter, then small letters, digits or hyphens";
    if is_name(name) { Ok(name) } else { Err(Failure::field("/name", rule)) }
}

fn checked_address(kind: ForgeKind, text: &str) -> Result<ForgeAddress, Failure> {
    ForgeAddress::new(kind, text).map_err(|error| Failure::field("/address", error))
}

fn checked_patterns(texts: &[String]) -> Result<Vec<RepositoryPattern>, Failure> {
    if texts.is_empty() || texts.len() > MAX_PATTERNS {
        return Err(Failure::field("/repositories", format!("must have 1 to {MAX_PATTERNS} entries")));
    }
    let patterns = texts.iter().enumerate().map(|(at, text)| {
        forge_pattern(text).map_err(|error| Failure::field(&format!("/repositories/{at}"), error))
    });
    patterns.collect()
}

/// Seals a credential, for this forge and this address only.
fn seal(
    keys: &OrganizationKeys,
    (forge, address): (ForgeId, &str),
    given: ForgeCredential,
) -> Result<SealedValue, Failure> {
    let token = given.token.into_string();
    if !is_token(&token) {
        let rule = "must have a `token` of 1 to 4,096 printable ASCII characters without spaces";
        return Err(Failure::field("/credential", rule));
    }
    let secret = Secret::from_opened(token.into_bytes().into());
    keys.seal_forge_credential(ForgeCredentialPlace { forge, address }, &secret)
}

fn name_taken(error: StoreError, name: &str) -> Failure {
    if error.is_taken("forges_name") {
        let detail = format!("There is a forge `{name}` already. Choose another name.");
        Failure::new(Code::ForgeNameTaken, detail)
    } else {
        error.into()
    }
}

fn texts(patterns: &[RepositoryPattern]) -> Vec<String> {
    patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect()
}

fn payload(forge: &ForgeRecord) -> Value {
    json!({
        "id": forge.id,
        "name": forge.name,
        "kind": forge.kind.as_str(),
        "address": forge.address,
        "repositories": texts(&forge.repositories),
    })
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    name: &str,
    (before, after): (Option<Value>, Option<Value>),
) -> Result<(), Failure> {
    let event = NewEvent { event_type, subject: subject(name), before, after, reason: None };
    Ok(command.record_event(event).await?)
}
