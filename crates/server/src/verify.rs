//! `greenroomd admin verify`: whether a database, its objects and its keys belong together and are complete, such as after
//! a restore. It only reads.

use std::collections::HashMap;

use anyhow::{Context, bail};
use greenroom_domain::id::{OrganizationId, OrganizationKeyId};
use greenroom_domain::secret::{CredentialPlace, ForgeCredentialPlace, ModelCredentialPlace, ValuePlace};
use greenroom_keys::{DataKey, KeyRing, Keys};
use greenroom_store::organization_key::SealedBy;
use greenroom_store::system::verify::{Broken, MAX_BROKEN};
use greenroom_store::{Store, StoreError};
use greenroom_worker::objects::Objects;
use serde_json::{Value, json};

const ALL: i64 = i64::MAX;

/// Returns what is broken, and how many objects and sealed values were checked. `require_complete` makes an error of what is
/// broken.
pub async fn verify(store: &Store, keys: &Keys, objects: Option<&Objects>) -> anyhow::Result<Value> {
    let mut broken = Vec::new();
    broken.extend(store.broken_constraints().await?);
    broken.extend(store.broken_event_numbers().await?);
    broken.extend(store.broken_locks().await?);
    broken.extend(store.broken_deployments().await?);
    broken.extend(store.broken_content().await?);
    let objects = match objects {
        None => Value::Null,
        Some(objects) => json!(missing_objects(store, objects, &mut broken).await?),
    };
    let sealed = match keys.ring() {
        None => Value::Null,
        Some(ring) => json!(unopened(store, &ring, &mut broken).await?),
    };
    let found: Vec<Value> = broken
        .iter()
        .map(|broken| {
            let invariant = broken.invariant.trim_start_matches("invariant: ");
            json!({ "invariant": invariant, "organization": broken.organization, "subject": broken.subject })
        })
        .collect();
    Ok(json!({ "broken": found, "objects": objects, "sealed": sealed }))
}

/// Fails if a result of `verify` has something broken.
pub fn require_complete(result: &Value) -> anyhow::Result<()> {
    match result["broken"].as_array().map_or(0, Vec::len) {
        0 => Ok(()),
        count => bail!(
            "{count} invariants or rows are broken: this database must not be used as it is; see docs/restore.md"
        ),
    }
}

/// Looks for each object that a row refers to. Returns how many there are.
async fn missing_objects(
    store: &Store,
    objects: &Objects,
    broken: &mut Vec<Broken>,
) -> anyhow::Result<usize> {
    let referred = store.referred_objects().await?;
    let names = referred.iter().map(|object| object.name.as_str());
    let missing = objects.missing(names).await.context("can't read the object store")?;
    let lost = referred.iter().filter(|object| missing.contains(&object.name)).take(MAX_BROKEN);
    broken.extend(lost.map(|object| Broken {
        invariant: "each object that a row refers to exists".to_owned(),
        organization: object.organization.clone(),
        subject: format!("{}: {}", object.subject, object.name),
    }));
    Ok(referred.len())
}

/// Opens everything that is sealed. Returns how much that is.
async fn unopened(store: &Store, ring: &KeyRing, broken: &mut Vec<Broken>) -> anyhow::Result<usize> {
    let mut count = 0;
    for organization in store.organization_ids().await? {
        let mut subjects = Vec::new();
        count += opened_in(store, ring, organization, &mut subjects).await?;
        broken.extend(subjects.into_iter().take(MAX_BROKEN).map(|subject| Broken {
            invariant: "everything that is sealed can be opened".to_owned(),
            organization: organization.to_string(),
            subject,
        }));
    }
    for published in store.published_signing_keys().await?.keys {
        count += 1;
        if ring.open_signing_key(&published.key).is_err() {
            broken.push(Broken {
                invariant: "everything that is sealed can be opened".to_owned(),
                organization: "-".to_owned(),
                subject: format!("signing key {}", published.key.id),
            });
        }
    }
    Ok(count)
}

async fn opened_in(
    store: &Store,
    ring: &KeyRing,
    organization: OrganizationId,
    failed: &mut Vec<String>,
) -> Result<usize, StoreError> {
    let mut count = 0;
    let mut keys: HashMap<OrganizationKeyId, DataKey> = HashMap::new();
    for key in store.organization_keys(organization).await? {
        count += 1;
        match ring.open_key(organization, &key.key) {
            Ok(opened) => drop(keys.insert(key.key.id, opened)),
            Err(_) => failed.push(format!("data key {}", key.key.id)),
        }
    }
    for value in store.sealed_values(organization, SealedBy::AnyKey, ALL).await? {
        count += 1;
        let place = ValuePlace { secret: value.secret, scope: &value.scope, version: value.version };
        if keys.get(&value.value.key).is_none_or(|key| key.open(place, &value.value).is_err()) {
            failed.push(format!("version {} of secret {}", value.version, value.secret));
        }
    }
    for credential in store.sealed_credentials(organization, SealedBy::AnyKey, ALL).await? {
        count += 1;
        let place = CredentialPlace { registry: credential.registry, url: &credential.url };
        let key = keys.get(&credential.value.key);
        if key.is_none_or(|key| key.open_credential(place, &credential.value).is_err()) {
            failed.push(format!("credential of {}", credential.registry));
        }
    }
    for credential in store.sealed_forge_credentials(organization, SealedBy::AnyKey, ALL).await? {
        count += 1;
        let place = ForgeCredentialPlace { forge: credential.forge, address: &credential.address };
        let key = keys.get(&credential.value.key);
        if key.is_none_or(|key| key.open_forge_credential(place, &credential.value).is_err()) {
            failed.push(format!("credential of {}", credential.forge));
        }
    }
    if let Some(credential) = store.sealed_model_credential(organization, SealedBy::AnyKey).await? {
        count += 1;
        let place = ModelCredentialPlace { address: &credential.address };
        let key = keys.get(&credential.value.key);
        if key.is_none_or(|key| key.open_model_credential(place, &credential.value).is_err()) {
            failed.push("credential of the model".to_owned());
        }
    }
    Ok(count)
}
