//! Opens the credential of a forge, for the calls of one activity. If it can't be opened, the forge is not called.

use greenroom_domain::id::OrganizationId;
use greenroom_domain::secret::{ForgeCredentialPlace, Secret};
use greenroom_keys::{KeyError, Keys};
use greenroom_store::forge::ForgeRecord;
use greenroom_store::{Store, StoreError, with_db_timeout};

/// Why a credential could not be opened. The text is `lastError` of the forge.
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
    #[error("the credential can't be opened for this forge and its `address`: set the credential again")]
    Damaged,
}

/// Opens a credential by the row's own `address`: one that was copied, or whose address was changed, does not open.
pub async fn open_credential(
    store: &Store,
    keys: &Keys,
    organization: OrganizationId,
    forge: &ForgeRecord,
) -> Result<Result<Secret, CredentialNotOpened>, StoreError> {
    let Some(ring) = keys.ring() else { return Ok(Err(CredentialNotOpened::NoMasterKey)) };
    let wrapped = with_db_timeout(store.organization_keys(organization)).await?;
    let Some(wrapped) = wrapped.into_iter().find(|stored| stored.key.id == forge.credential.key) else {
        return Ok(Err(CredentialNotOpened::Damaged));
    };
    let place = ForgeCredentialPlace { forge: forge.id, address: &forge.address };
    let opened = ring
        .open_key(organization, &wrapped.key)
        .and_then(|key| key.open_forge_credential(place, &forge.credential));
    Ok(opened.map_err(|error| {
        tracing::warn!(
            forge = %forge.id,
            error = &error as &dyn std::error::Error,
            "could not open the credential of a forge"
        );
        match error {
            KeyError::UnknownMasterKey(_) => CredentialNotOpened::OtherMasterKey,
            KeyError::NotOpened | KeyError::Failed => CredentialNotOpened::Damaged,
        }
    }))
}
