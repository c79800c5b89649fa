//! The credential of a private registry: sealed here, opened by the worker that synchronizes, and never returned.

use greenroom_api_types::step_registry::RegistryCredential;
use greenroom_domain::id::RegistryId;
use greenroom_domain::secret::{CredentialPlace, SealedValue};
use greenroom_registry::Credential;
use greenroom_store::step_registry::{CredentialChange, RegistryRecord};

use crate::failure::Failure;
use crate::secret::sealing::OrganizationKeys;

/// Checks and seals a credential, for this registry and this address only. `keys` are those of the organization, which are
/// opened for requests with a credential.
pub(super) fn seal(
    keys: Option<&OrganizationKeys>,
    (registry, url): (RegistryId, &str),
    given: RegistryCredential,
) -> Result<SealedValue, Failure> {
    let keys = keys.ok_or_else(|| Failure::internal("a credential without the keys of the organization"))?;
    let password = given.password.into_string().into();
    let credential = match given.username {
        Some(username) => Credential::new(username.into_string().into(), password),
        None => Credential::token(password),
    };
    let rule = "must be a `password`, and a `username` without `:`, of one line with 1 to 4,096 bytes each";
    let credential = credential.map_err(|_| Failure::field("/credential", rule))?;
    keys.seal_credential(CredentialPlace { registry, url }, &credential.to_secret())
}

/// Returns what becomes of the credential of a registry whose address is `url` from now on. What is stored is never used for
/// another address.
pub(super) fn change(
    keys: Option<&OrganizationKeys>,
    before: &RegistryRecord,
    url: &str,
    given: Option<Option<RegistryCredential>>,
) -> Result<CredentialChange, Failure> {
    match given {
        Some(Some(given)) => Ok(CredentialChange::Set(seal(keys, (before.id, url), given)?)),
        Some(None) if before.has_credential => Ok(CredentialChange::Remove),
        None if before.has_credential && before.url != url => {
            let rule = "must be sent again with another `url`, because the stored one is for the former address only; \
                        `null` removes it";
            Err(Failure::field("/credential", rule))
        }
        _ => Ok(CredentialChange::Keep),
    }
}
