//! Seals and opens values. The keys of an organization are opened for one request at a time, and kept nowhere.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_api_types::runner::StepSecret;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, OrganizationKeyId};
use greenroom_domain::secret::{
    CredentialPlace, ForgeCredentialPlace, ModelCredentialPlace, SealedValue, Secret, ValuePlace,
};
use greenroom_keys::{DataKey, KeyError, KeyRing};
use greenroom_store::secret::StepSecrets;
use uuid::Uuid;

use crate::App;
use crate::command::Fingerprint;
use crate::failure::{Code, Failure};

/// The opened data keys of an organization.
pub struct OrganizationKeys {
    active: DataKey,
    former: Vec<DataKey>,
}

#[boxed_futures]
impl OrganizationKeys {
    /// Opens the organization's data keys. Its first key is made here.
    pub async fn open(app: &App, organization: OrganizationId) -> Result<Self, Failure> {
        let ring = ring(app)?;
        let mut stored = app.store.organization_keys(organization).await?;
        if stored.first().is_none_or(|key| key.is_retired) {
            let id = OrganizationKeyId::from(Uuid::now_v7());
            let new = ring.create(organization, id).map_err(unavailable)?;
            app.store.add_first_organization_key(organization, &new).await?;
            stored = app.store.organization_keys(organization).await?;
        }
        let mut opened = stored.iter().map(|stored| ring.open_key(organization, &stored.key));
        let active = opened.next().ok_or(KeyError::NotOpened).flatten().map_err(unavailable)?;
        // A former key is used to recognize repeated requests only.
        Ok(Self { active, former: opened.filter_map(Result::ok).collect() })
    }

    pub fn seal(&self, place: ValuePlace<'_>, value: &Secret) -> Result<SealedValue, Failure> {
        self.active.seal(place, value).map_err(unavailable)
    }

    /// Seals the credential of a step registry.
    pub fn seal_credential(
        &self,
        place: CredentialPlace<'_>,
        value: &Secret,
    ) -> Result<SealedValue, Failure> {
        self.active.seal_credential(place, value).map_err(unavailable)
    }

    /// Seals the credential of a forge.
    pub fn seal_forge_credential(
        &self,
        place: ForgeCredentialPlace<'_>,
        value: &Secret,
    ) -> Result<SealedValue, Failure> {
        self.active.seal_forge_credential(place, value).map_err(unavailable)
    }

    /// Seals the credential of the organization's model.
    pub fn seal_model_credential(
        &self,
        place: ModelCredentialPlace<'_>,
        value: &Secret,
    ) -> Result<SealedValue, Failure> {
        self.active.seal_model_credential(place, value).map_err(unavailable)
    }

    /// Returns the fingerprint of a request with a value in its body.
    pub fn fingerprint(&self, body: &[u8]) -> Fingerprint {
        let former_hashes = self.former.iter().map(|key| key.fingerprint(body)).collect();
        Fingerprint { hash: self.active.fingerprint(body), former_hashes }
    }
}

/// Opens the secrets of a step, for its runner.
pub fn open_step_secrets(
    app: &App,
    organization: OrganizationId,
    sealed: &StepSecrets,
) -> Result<Vec<StepSecret>, Failure> {
    if sealed.secrets.is_empty() {
        return Ok(Vec::new());
    }
    let ring = ring(app)?;
    let keys: Vec<DataKey> = sealed
        .keys
        .iter()
        .map(|key| ring.open_key(organization, key))
        .collect::<Result<_, _>>()
        .map_err(unavailable)?;
    let opened = sealed.secrets.iter().map(|secret| {
        let place = ValuePlace { secret: secret.id, scope: &secret.scope, version: secret.version };
        let key = keys.iter().find(|key| key.id() == secret.value.key).ok_or(KeyError::NotOpened)?;
        let value = key.open(place, &secret.value)?;
        Ok(StepSecret {
            variable: secret.variable.clone(),
            name: secret.name.clone(),
            value: STANDARD.encode(value.reveal()),
            file: secret.is_file,
        })
    });
    opened.collect::<Result<_, KeyError>>().map_err(unavailable)
}

fn ring(app: &App) -> Result<Arc<KeyRing>, Failure> {
    app.keys.ring().ok_or_else(|| {
        Failure::new(
            Code::SecretsUnavailable,
            "This server has no master key, so secrets can be neither set nor read. Its operator gives it one by \
             `--secrets-key-file` or `--secrets-key-command`.",
        )
    })
}

fn unavailable(error: KeyError) -> Failure {
    let detail = "The server can't open the keys of this organization's secrets. Nothing was changed; give the requestId to \
                  the operator of this server.";
    Failure::new(Code::SecretsUnavailable, detail).with_source(error)
}
