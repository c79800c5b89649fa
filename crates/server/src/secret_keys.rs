//! `greenroomd admin rewrap-keys` and `reseal`: an operator replaces the master key, or the data key of an
//! organization, while servers read secrets. `oidc-documents` writes what relying parties read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use greenroom_app::command::OperatorCommand;
use greenroom_app::id_token::{self, CONFIGURATION_PATH, KEYS_PATH};
use greenroom_domain::id::{OrganizationId, OrganizationKeyId};
use greenroom_domain::secret::{
    CredentialPlace, ForgeCredentialPlace, ModelCredentialPlace, SealedValue, ValuePlace,
};
use greenroom_domain::slug::Slug;
use greenroom_keys::{DataKey, KeyRing, Keys};
use greenroom_store::Store;
use greenroom_store::forge::SealedForgeCredential;
use greenroom_store::model::SealedModelCredential;
use greenroom_store::organization_key::SealedBy;
use greenroom_store::secret::SealedValueAt;
use greenroom_store::step_registry::SealedCredential;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

const BATCH_SIZE: i64 = 100;

/// Wraps the signing keys and the data keys of all organizations with the active master key. Each one is a separate statement: a
/// server that reads a key in between finds the old form or the new one.
pub async fn rewrap_keys(store: &Store, keys: &Keys) -> anyhow::Result<Value> {
    let ring = ring(keys)?;
    let mut rewrapped = 0;
    for published in store.published_signing_keys().await?.keys {
        let before = published.key;
        let after = ring
            .rewrap_signing_key(&before)
            .with_context(|| format!("can't open the signing key {}", before.id))?;
        if let Some(after) = after
            && store.rewrap_signing_key(&before, &after).await?
        {
            rewrapped += 1;
        }
    }
    loop {
        let batch = store.organization_keys_of_other_masters(ring.active_id(), BATCH_SIZE).await?;
        if batch.is_empty() {
            return Ok(json!({ "masterKey": ring.active_id(), "rewrapped": rewrapped }));
        }
        for (organization, before) in batch {
            let after = ring
                .rewrap(organization, &before)
                .with_context(|| format!("can't open the data key {} of {organization}", before.id))?;
            if let Some(after) = after
                && store.rewrap_organization_key(organization, &before, &after).await?
            {
                rewrapped += 1;
            }
        }
    }
}

/// Makes a new data key for an organization, and seals the values of its secrets and the credentials of its step registries,
/// forges and model with it. What is set concurrently with the former key is found by the next batch.
pub async fn reseal(store: &Store, keys: &Keys, slug: &Slug) -> anyhow::Result<Value> {
    let ring = ring(keys)?;
    let Some((organization, _)) = store.organization_by_slug(slug).await? else {
        bail!("there is no organization `{slug}`");
    };
    let new = ring.create(organization, OrganizationKeyId::from(Uuid::now_v7()))?;
    let Some(mut command) = OperatorCommand::open(store, slug).await? else {
        bail!("there is no organization `{slug}`");
    };
    command.replace_organization_key(&new).await?;
    command.commit().await?;
    let new = ring.open_key(organization, &new)?;
    let former = former_keys(store, &ring, organization).await?;
    let mut resealed = 0;
    loop {
        let batch = store.sealed_values(organization, SealedBy::RetiredKeys, BATCH_SIZE).await?;
        if batch.is_empty() {
            break;
        }
        for stale in batch {
            let sealed = reseal_value(&former, &new, &stale)
                .with_context(|| format!("can't open version {} of {}", stale.version, stale.secret))?;
            store.reseal_value(organization, &stale, &sealed).await?;
            resealed += 1;
        }
    }
    loop {
        let batch = store.sealed_credentials(organization, SealedBy::RetiredKeys, BATCH_SIZE).await?;
        if batch.is_empty() {
            break;
        }
        for stale in batch {
            let sealed = reseal_credential(&former, &new, &stale)
                .with_context(|| format!("can't open the credential of {}", stale.registry))?;
            resealed += u32::from(store.reseal_credential(organization, &stale, &sealed).await?);
        }
    }
    loop {
        let batch = store.sealed_forge_credentials(organization, SealedBy::RetiredKeys, BATCH_SIZE).await?;
        if batch.is_empty() {
            break;
        }
        for stale in batch {
            let sealed = reseal_forge_credential(&former, &new, &stale)
                .with_context(|| format!("can't open the credential of {}", stale.forge))?;
            resealed += u32::from(store.reseal_forge_credential(organization, &stale, &sealed).await?);
        }
    }
    while let Some(stale) = store.sealed_model_credential(organization, SealedBy::RetiredKeys).await? {
        let sealed = reseal_model_credential(&former, &new, &stale)
            .context("can't open the credential of the model")?;
        resealed += u32::from(store.reseal_model_credential(organization, &stale, &sealed).await?);
    }
    Ok(json!({ "keyId": new.id(), "resealed": resealed }))
}

/// Writes the documents of the issuer of id tokens to a folder, for a web server that relying parties reach.
pub async fn oidc_documents(store: &Store, keys: &Keys, issuer: &str, out: &Path) -> anyhow::Result<Value> {
    let keys = id_token::load(store, &ring(keys)?, &TaskTracker::new()).await?.jwks();
    let documents = [(CONFIGURATION_PATH, id_token::configuration(issuer)), (KEYS_PATH, keys)]
        .map(|(path, document)| (out.join(path.trim_start_matches('/')), document));
    for (file, document) in &documents {
        let folder = file.parent().unwrap_or(out);
        std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
        std::fs::write(file, document.to_string())
            .with_context(|| format!("can't write {}", file.display()))?;
    }
    Ok(json!({ "issuer": issuer, "files": documents.map(|(file, _)| file.display().to_string()) }))
}

fn reseal_value(
    former: &HashMap<OrganizationKeyId, DataKey>,
    new: &DataKey,
    stale: &SealedValueAt,
) -> anyhow::Result<SealedValue> {
    let key = former.get(&stale.value.key).context("its data key is missing")?;
    let place = ValuePlace { secret: stale.secret, scope: &stale.scope, version: stale.version };
    let value = key.open(place, &stale.value)?;
    Ok(new.seal(place, &value)?)
}

fn reseal_credential(
    former: &HashMap<OrganizationKeyId, DataKey>,
    new: &DataKey,
    stale: &SealedCredential,
) -> anyhow::Result<SealedValue> {
    let key = former.get(&stale.value.key).context("its data key is missing")?;
    let place = CredentialPlace { registry: stale.registry, url: &stale.url };
    let credential = key.open_credential(place, &stale.value)?;
    Ok(new.seal_credential(place, &credential)?)
}

fn reseal_forge_credential(
    former: &HashMap<OrganizationKeyId, DataKey>,
    new: &DataKey,
    stale: &SealedForgeCredential,
) -> anyhow::Result<SealedValue> {
    let key = former.get(&stale.value.key).context("its data key is missing")?;
    let place = ForgeCredentialPlace { forge: stale.forge, address: &stale.address };
    let credential = key.open_forge_credential(place, &stale.value)?;
    Ok(new.seal_forge_credential(place, &credential)?)
}

fn reseal_model_credential(
    former: &HashMap<OrganizationKeyId, DataKey>,
    new: &DataKey,
    stale: &SealedModelCredential,
) -> anyhow::Result<SealedValue> {
    let key = former.get(&stale.value.key).context("its data key is missing")?;
    let place = ModelCredentialPlace { address: &stale.address };
    let credential = key.open_model_credential(place, &stale.value)?;
    Ok(new.seal_model_credential(place, &credential)?)
}

async fn former_keys(
    store: &Store,
    ring: &KeyRing,
    organization: OrganizationId,
) -> anyhow::Result<HashMap<OrganizationKeyId, DataKey>> {
    let keys = store.organization_keys(organization).await?;
    let keys = keys.into_iter().filter(|key| key.is_retired);
    keys.map(|key| Ok((key.key.id, ring.open_key(organization, &key.key)?))).collect()
}

fn ring(keys: &Keys) -> anyhow::Result<Arc<KeyRing>> {
    keys.ring().context("give the master keys by --secrets-key-file or --secrets-key-command")
}
