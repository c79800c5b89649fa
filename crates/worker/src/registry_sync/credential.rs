//! Opens the credential of a private registry, for one synchronization. If it can't be opened, nothing is sent to the
//! registry at all: a server that requires none could otherwise answer in the place of the private one.

use greenroom_domain::secret::CredentialPlace;
use greenroom_keys::{KeyError, Keys};
use greenroom_registry::Credential;
use greenroom_store::system::step_registry::DueRegistry;
use greenroom_store::{Store, StoreError, with_db_timeout};

/// Why a credential could not be opened. The text is the error of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotOpened {
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
    #[error("the credential can't be opened for this registry and its `url`: set the credential again")]
    Damaged,
}

/// Returns the credential; `None` if the registry has none.
pub(super) async fn open(
    store: &Store,
    keys: &Keys,
    due: &DueRegistry,
) -> Result<Result<Option<Credential>, NotOpened>, StoreError> {
    let Some(sealed) = &due.credential else { return Ok(Ok(None)) };
    let Some(ring) = keys.ring() else { return Ok(Err(NotOpened::NoMasterKey)) };
    let wrapped = with_db_timeout(store.organization_keys(due.organization_id)).await?;
    let Some(wrapped) = wrapped.into_iter().find(|stored| stored.key.id == sealed.key) else {
        return Ok(Err(NotOpened::Damaged));
    };
    let place = CredentialPlace { registry: due.id, url: &due.url };
    let opened =
        ring.open_key(due.organization_id, &wrapped.key).and_then(|key| key.open_credential(place, sealed));
    Ok(match opened {
        Ok(secret) => Credential::from_secret(&secret).map(Some).map_err(|_| NotOpened::Damaged),
        Err(error) => {
            tracing::warn!(
                registry = %due.id,
                error = &error as &dyn std::error::Error,
                "could not open the credential of a step registry"
            );
            Err(match error {
                KeyError::UnknownMasterKey(_) => NotOpened::OtherMasterKey,
                KeyError::NotOpened | KeyError::Failed => NotOpened::Damaged,
            })
        }
    })
}
