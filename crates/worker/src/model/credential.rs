//! Opens the credential of an organization's model, for one call. If it can't be opened, the model is not called.

use greenroom_domain::id::OrganizationId;
use greenroom_domain::secret::{ModelCredentialPlace, Secret};
use greenroom_keys::{KeyError, Keys};
use greenroom_store::model::ModelSettingsRecord;
use greenroom_store::{Store, StoreError, with_db_timeout};

/// Why a credential could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialNotOpened {
    #[error(
        "the credential can't be opened, because the worker has no master key: its operator gives it those of the servers, by \
         --secrets-key-file or --secrets-key-command"
    )]
    NoMasterKey,
    #[error(
        "the credential can't be opened, because the worker does not have the master key for it: its operator gives it the \
         master keys of the servers, and sends it SIGHUP"
    )]
    OtherMasterKey,
    #[error(
        "the credential can't be opened for this organization and its `address`: set the credential again"
    )]
    Damaged,
}

/// Opens the credential by the row's own `address`: one that was copied, or whose address was changed, does not open. Returns
/// `None` if the model needs no credential.
pub async fn open_credential(
    store: &Store,
    keys: &Keys,
    organization: OrganizationId,
    record: &ModelSettingsRecord,
) -> Result<Result<Option<Secret>, CredentialNotOpened>, StoreError> {
    let Some(credential) = &record.credential else { return Ok(Ok(None)) };
    let Some(ring) = keys.ring() else { return Ok(Err(CredentialNotOpened::NoMasterKey)) };
    let wrapped = with_db_timeout(store.organization_keys(organization)).await?;
    let Some(wrapped) = wrapped.into_iter().find(|stored| stored.key.id == credential.key) else {
        return Ok(Err(CredentialNotOpened::Damaged));
    };
    let place = ModelCredentialPlace { address: record.settings.address.as_deref().unwrap_or_default() };
    let opened = ring
        .open_key(organization, &wrapped.key)
        .and_then(|key| key.open_model_credential(place, credential));
    Ok(opened.map(Some).map_err(|error| {
        tracing::warn!(
            %organization,
            error = &error as &dyn std::error::Error,
            "could not open the credential of a model"
        );
        match error {
            KeyError::UnknownMasterKey(_) => CredentialNotOpened::OtherMasterKey,
            KeyError::NotOpened | KeyError::Failed => CredentialNotOpened::Damaged,
        }
    }))
}
