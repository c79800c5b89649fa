//! Data keys of organizations, and the sealing of values with AES-256-GCM-SIV.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{hmac, rand};
use greenroom_domain::id::{OrganizationId, OrganizationKeyId};
use greenroom_domain::secret::{
    CredentialPlace, ForgeCredentialPlace, ModelCredentialPlace, SealedValue, Secret, ValuePlace,
};
use zeroize::Zeroizing;

use crate::KeyError;
use crate::associated_data::associated_data;

pub(crate) const KEY_BYTES: usize = 32;
pub(crate) type KeyBytes = Zeroizing<[u8; KEY_BYTES]>;

/// AES-256-GCM-SIV with random nonces: if a nonce repeats, it reveals only whether two values are equal.
pub(crate) struct Cipher(LessSafeKey);

impl Cipher {
    pub(crate) fn new(key: &KeyBytes) -> Result<Self, KeyError> {
        let key = UnboundKey::new(&AES_256_GCM_SIV, &key[..]).map_err(|_| KeyError::Failed)?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// Returns the nonce and the sealed bytes with their tag.
    pub(crate) fn seal(&self, bound_to: &[u8], plain: &[u8]) -> Result<([u8; NONCE_LEN], Vec<u8>), KeyError> {
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| KeyError::Failed)?;
        // The room for the tag keeps the plain bytes from being copied when the buffer grows.
        let mut sealed = Vec::with_capacity(plain.len() + AES_256_GCM_SIV.tag_len());
        sealed.extend_from_slice(plain);
        let result = self.0.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(bound_to),
            &mut sealed,
        );
        match result {
            Ok(()) => Ok((nonce, sealed)),
            Err(_) => {
                drop(Zeroizing::new(sealed));
                Err(KeyError::Failed)
            }
        }
    }

    pub(crate) fn open(
        &self,
        bound_to: &[u8],
        nonce: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| KeyError::NotOpened)?;
        let mut buffer = Zeroizing::new(sealed.to_vec());
        let opened = self.0.open_in_place(nonce, Aad::from(bound_to), &mut buffer[..]);
        let length = opened.map_err(|_| KeyError::NotOpened)?.len();
        buffer.truncate(length);
        Ok(buffer)
    }

    /// Opens bytes that begin with their nonce.
    pub(crate) fn open_with_nonce(
        &self,
        bound_to: &[u8],
        bytes: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN).ok_or(KeyError::NotOpened)?;
        self.open(bound_to, nonce, sealed)
    }
}

pub(crate) fn random_key() -> Result<KeyBytes, KeyError> {
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    rand::fill(&mut bytes[..]).map_err(|_| KeyError::Failed)?;
    Ok(bytes)
}

/// An organization's data key. It can't be printed.
pub struct DataKey {
    organization: OrganizationId,
    id: OrganizationKeyId,
    cipher: Cipher,
    fingerprints: hmac::Key,
}

impl DataKey {
    pub(crate) fn new(
        organization: OrganizationId,
        id: OrganizationKeyId,
        bytes: &KeyBytes,
    ) -> Result<Self, KeyError> {
        // Fingerprints have a key of their own, so that one key is never used in two algorithms.
        let derive = hmac::Key::new(hmac::HMAC_SHA256, &bytes[..]);
        let derived = hmac::sign(&derive, b"greenroom fingerprint of a request");
        Ok(Self {
            organization,
            id,
            cipher: Cipher::new(bytes)?,
            fingerprints: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()),
        })
    }

    pub const fn id(&self) -> OrganizationKeyId {
        self.id
    }

    pub fn seal(&self, place: ValuePlace<'_>, value: &Secret) -> Result<SealedValue, KeyError> {
        self.seal_for(&self.bound_to(place), value)
    }

    pub fn open(&self, place: ValuePlace<'_>, value: &SealedValue) -> Result<Secret, KeyError> {
        self.open_for(&self.bound_to(place), value)
    }

    /// Seals the credential of a step registry.
    pub fn seal_credential(
        &self,
        place: CredentialPlace<'_>,
        value: &Secret,
    ) -> Result<SealedValue, KeyError> {
        self.seal_for(&self.credential_bound_to(place), value)
    }

    /// Opens the credential of a step registry.
    pub fn open_credential(
        &self,
        place: CredentialPlace<'_>,
        value: &SealedValue,
    ) -> Result<Secret, KeyError> {
        self.open_for(&self.credential_bound_to(place), value)
    }

    /// Seals the credential of a forge.
    pub fn seal_forge_credential(
        &self,
        place: ForgeCredentialPlace<'_>,
        value: &Secret,
    ) -> Result<SealedValue, KeyError> {
        self.seal_for(&self.forge_credential_bound_to(place), value)
    }

    /// Opens the credential of a forge.
    pub fn open_forge_credential(
        &self,
        place: ForgeCredentialPlace<'_>,
        value: &SealedValue,
    ) -> Result<Secret, KeyError> {
        self.open_for(&self.forge_credential_bound_to(place), value)
    }

    /// Seals the credential of the organization's model.
    pub fn seal_model_credential(
        &self,
        place: ModelCredentialPlace<'_>,
        value: &Secret,
    ) -> Result<SealedValue, KeyError> {
        self.seal_for(&self.model_credential_bound_to(place), value)
    }

    /// Opens the credential of the organization's model.
    pub fn open_model_credential(
        &self,
        place: ModelCredentialPlace<'_>,
        value: &SealedValue,
    ) -> Result<Secret, KeyError> {
        self.open_for(&self.model_credential_bound_to(place), value)
    }

    fn seal_for(&self, bound_to: &[u8], value: &Secret) -> Result<SealedValue, KeyError> {
        let (nonce, sealed) = self.cipher.seal(bound_to, value.reveal())?;
        Ok(SealedValue { key: self.id, nonce: nonce.to_vec(), sealed })
    }

    fn open_for(&self, bound_to: &[u8], value: &SealedValue) -> Result<Secret, KeyError> {
        if value.key != self.id {
            return Err(KeyError::NotOpened);
        }
        let opened = self.cipher.open(bound_to, &value.nonce, &value.sealed)?;
        Ok(Secret::from_opened(opened))
    }

    /// Returns a fingerprint of a request with a value in its body. Without the key, a value can't be guessed
    /// from it.
    pub fn fingerprint(&self, body: &[u8]) -> Vec<u8> {
        hmac::sign(&self.fingerprints, body).as_ref().to_vec()
    }

    fn bound_to(&self, place: ValuePlace<'_>) -> Vec<u8> {
        let ValuePlace { secret, scope, version } = place;
        let (organization, key) = (self.organization.uuid(), self.id.uuid());
        let (secret, pipeline) = (secret.uuid(), scope.pipeline().map(|pipeline| pipeline.uuid()));
        associated_data(&[
            b"greenroom secret",
            organization.as_bytes(),
            secret.as_bytes(),
            scope.kind().as_str().as_bytes(),
            pipeline.as_ref().map_or(&[][..], |pipeline| &pipeline.as_bytes()[..]),
            scope.environment().unwrap_or_default().as_bytes(),
            &version.to_be_bytes(),
            key.as_bytes(),
        ])
    }

    fn credential_bound_to(&self, CredentialPlace { registry, url }: CredentialPlace<'_>) -> Vec<u8> {
        let (organization, key, registry) = (self.organization.uuid(), self.id.uuid(), registry.uuid());
        associated_data(&[
            b"greenroom registry credential",
            organization.as_bytes(),
            registry.as_bytes(),
            url.as_bytes(),
            key.as_bytes(),
        ])
    }

    fn forge_credential_bound_to(&self, place: ForgeCredentialPlace<'_>) -> Vec<u8> {
        let ForgeCredentialPlace { forge, address } = place;
        let (organization, key, forge) = (self.organization.uuid(), self.id.uuid(), forge.uuid());
        associated_data(&[
            b"greenroom forge credential",
            organization.as_bytes(),
            forge.as_bytes(),
            address.as_bytes(),
            key.as_bytes(),
        ])
    }

    fn model_credential_bound_to(&self, place: ModelCredentialPlace<'_>) -> Vec<u8> {
        let (organization, key) = (self.organization.uuid(), self.id.uuid());
        associated_data(&[
            b"greenroom model credential",
            organization.as_bytes(),
            place.address.as_bytes(),
            key.as_bytes(),
        ])
    }
}

#[cfg(test)]
#[path = "data_key_tests.rs"]
mod tests;
