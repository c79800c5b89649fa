//! Data keys of organizations, and the sealing of values with AES-256-GCM-SIV.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{hmac, rand};
use greenroom_domain::id::{OrganizationId, OrganizationKeyId};
use greenroom_domain::secret::{SealedValue, Secret, ValuePlace};
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
        let (nonce, sealed) = self.cipher.seal(&self.bound_to(place), value.reveal())?;
        Ok(SealedValue { key: self.id, nonce: nonce.to_vec(), sealed })
    }

    pub fn open(&self, place: ValuePlace<'_>, value: &SealedValue) -> Result<Secret, KeyError> {
        if value.key != self.id {
            return Err(KeyError::NotOpened);
        }
        let opened = self.cipher.open(&self.bound_to(place), &value.nonce, &value.sealed)?;
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
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use greenroom_domain::id::{PipelineId, SecretId};
    use greenroom_domain::secret::{SecretScope, WrappedKey};
    use uuid::Uuid;

    use super::*;
    use crate::key_ring::KeyRing;

    const VALUE: &[u8] = b"correct horse battery staple";

    /// Where a row can be moved to. Each field has two values that an attacker could swap.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Row {
        organization: OrganizationId,
        secret: SecretId,
        scope: SecretScope,
        version: i32,
        key: usize,
    }

    struct Fixture {
        ring: KeyRing,
        /// Two keys of each of two organizations.
        keys: [[WrappedKey; 2]; 2],
    }

    fn uuid(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn organization(number: usize) -> OrganizationId {
        OrganizationId::from(uuid(number as u128))
    }

    impl Fixture {
        fn new() -> Self {
            let text = format!("test:{}", STANDARD.encode([7; KEY_BYTES]));
            let ring = KeyRing::parse(&text).unwrap_or_else(|error| panic!("{error}"));
            // The ids of keys are equal in both organizations, as after a row was copied.
            let key =
                |own, number| ring.create(organization(own), OrganizationKeyId::from(uuid(number))).unwrap();
            let keys = [[key(0, 100), key(0, 101)], [key(1, 100), key(1, 101)]];
            Self { ring, keys }
        }

        fn data_key(&self, row: &Row) -> DataKey {
            let own = usize::from(row.organization == organization(1));
            self.ring.open_key(row.organization, &self.keys[own][row.key]).unwrap()
        }

        fn seal(&self, row: &Row) -> SealedValue {
            let value = Secret::new(VALUE.to_vec()).unwrap_or_else(|error| panic!("{error}"));
            self.data_key(row).seal(place(row), &value).unwrap()
        }

        fn opens(&self, row: &Row, sealed: &SealedValue) -> bool {
            // As it is read from a row: the key's id is a column too, and moves with the rest.
            let sealed = SealedValue { key: self.data_key(row).id(), ..sealed.clone() };
            match self.data_key(row).open(place(row), &sealed) {
                Ok(value) => value.reveal() == VALUE,
                Err(_) => false,
            }
        }
    }

    fn place(row: &Row) -> ValuePlace<'_> {
        ValuePlace { secret: row.secret, scope: &row.scope, version: row.version }
    }

    fn rows() -> Vec<Row> {
        let pipeline = |number| PipelineId::from(uuid(number));
        let mut scopes = vec![SecretScope::Organization];
        for number in [10, 11] {
            scopes.push(SecretScope::Pipeline(pipeline(number)));
            for environment in ["qa", "production"] {
                scopes.push(SecretScope::Environment(pipeline(number), environment.to_owned()));
            }
        }
        let mut rows = Vec::new();
        for (own, secret, version, key) in (0..16).map(|n| (n & 1, (n >> 1) & 1, (n >> 2) & 1, n >> 3)) {
            for scope in &scopes {
                rows.push(Row {
                    organization: organization(own),
                    secret: SecretId::from(uuid(1_000 + secret as u128)),
                    scope: scope.clone(),
                    version: 1 + version as i32,
                    key,
                });
            }
        }
        rows
    }

    #[test]
    fn no_swapped_row_opens() {
        let (fixture, rows) = (Fixture::new(), rows());
        let sealed: Vec<SealedValue> = rows.iter().map(|row| fixture.seal(row)).collect();
        let mut swapped = 0;
        for (from, value) in rows.iter().zip(&sealed) {
            for to in &rows {
                assert_eq!(fixture.opens(to, value), from == to, "{from:?} in the row of {to:?}");
                swapped += usize::from(from != to);
            }
        }
        assert_eq!(swapped, 112 * 111);
    }

    #[test]
    fn no_damaged_value_opens() {
        let fixture = Fixture::new();
        let row = &rows()[0];
        let value = fixture.seal(row);
        for at in 0..value.sealed.len() {
            let mut damaged = value.clone();
            damaged.sealed[at] ^= 0x80;
            assert!(!fixture.opens(row, &damaged));
            assert!(
                !fixture.opens(row, &SealedValue { sealed: value.sealed[..at].to_vec(), ..value.clone() })
            );
        }
        for at in 0..value.nonce.len() {
            let mut damaged = value.clone();
            damaged.nonce[at] ^= 1;
            assert!(!fixture.opens(row, &damaged));
        }
        assert!(fixture.opens(row, &value));
    }

    #[test]
    fn equal_values_are_sealed_differently_and_the_value_is_not_in_it() {
        let fixture = Fixture::new();
        let row = &rows()[0];
        let (one, other) = (fixture.seal(row), fixture.seal(row));
        assert_ne!(one.sealed, other.sealed);
        assert_eq!(one.sealed.len(), VALUE.len() + 16);
        assert!(!one.sealed.windows(6).any(|bytes| VALUE.windows(6).any(|value| value == bytes)));
    }

    #[test]
    fn a_fingerprint_depends_on_the_body_and_the_key() {
        let fixture = Fixture::new();
        let rows = rows();
        let (one, other) = (&rows[0], rows.iter().find(|row| row.key == 1).unwrap());
        let key = fixture.data_key(one);
        assert_eq!(key.fingerprint(b"a"), key.fingerprint(b"a"));
        assert_ne!(key.fingerprint(b"a"), key.fingerprint(b"b"));
        assert_ne!(key.fingerprint(b"a"), fixture.data_key(other).fingerprint(b"a"));
    }
}
