//! The master keys of an installation: lines `id:base64`. The first one is active and wraps new data keys; the
//! others open what was wrapped before.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_domain::id::{OrganizationId, OrganizationKeyId};
use greenroom_domain::secret::WrappedKey;
use zeroize::Zeroizing;

use crate::KeyError;
use crate::associated_data::associated_data;
use crate::data_key::{Cipher, DataKey, KEY_BYTES, KeyBytes, random_key};

/// The longest id of a master key.
const MAX_ID_BYTES: usize = 63;

/// The master keys that this process has. It can't be printed.
pub struct KeyRing {
    keys: Vec<MasterKey>,
}

struct MasterKey {
    id: String,
    cipher: Cipher,
}

/// The text is not a list of master keys. The error names a line, and never its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKeyRing {
    #[error("there is no key; expected lines of the form `id:base64`")]
    Empty,
    #[error(
        "line {0} is not of the form `id:base64`; an id has 1 to 63 of the characters a-z, 0-9, `-`, `_`"
    )]
    Line(usize),
    #[error("line {0} does not have a key of 32 bytes in base64, such as `openssl rand -base64 32` prints")]
    Key(usize),
    #[error("line {0} has the id of an earlier line")]
    Repeated(usize),
}

impl KeyRing {
    /// Reads the keys. Empty lines and lines that begin with `#` are ignored.
    pub fn parse(text: &str) -> Result<Self, InvalidKeyRing> {
        let mut keys: Vec<MasterKey> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (id, key) = line.split_once(':').ok_or(InvalidKeyRing::Line(number))?;
            if !is_id(id) {
                return Err(InvalidKeyRing::Line(number));
            }
            if keys.iter().any(|known| known.id == id) {
                return Err(InvalidKeyRing::Repeated(number));
            }
            let bytes = decoded(key).ok_or(InvalidKeyRing::Key(number))?;
            let cipher = Cipher::new(&bytes).map_err(|_| InvalidKeyRing::Key(number))?;
            keys.push(MasterKey { id: id.to_owned(), cipher });
        }
        if keys.is_empty() { Err(InvalidKeyRing::Empty) } else { Ok(Self { keys }) }
    }

    /// Returns the id of the key that wraps new data keys.
    pub fn active_id(&self) -> &str {
        self.keys.first().map(|key| key.id.as_str()).unwrap_or_default()
    }

    /// Makes a new data key for an organization.
    pub fn create(
        &self,
        organization: OrganizationId,
        id: OrganizationKeyId,
    ) -> Result<WrappedKey, KeyError> {
        self.wrap(organization, id, &random_key()?)
    }

    /// Opens an organization's data key.
    pub fn open_key(&self, organization: OrganizationId, key: &WrappedKey) -> Result<DataKey, KeyError> {
        DataKey::new(organization, key.id, &self.opened(organization, key)?)
    }

    /// Wraps a data key with the active master key. Returns `None` if it is wrapped with that one already.
    pub fn rewrap(
        &self,
        organization: OrganizationId,
        key: &WrappedKey,
    ) -> Result<Option<WrappedKey>, KeyError> {
        if key.master_key == self.active_id() {
            return Ok(None);
        }
        let bytes = self.opened(organization, key)?;
        self.wrap(organization, key.id, &bytes).map(Some)
    }

    fn wrap(
        &self,
        organization: OrganizationId,
        id: OrganizationKeyId,
        bytes: &KeyBytes,
    ) -> Result<WrappedKey, KeyError> {
        let (master_key, wrapped) = self.seal(|master| bound_to(organization, id, master), &bytes[..])?;
        Ok(WrappedKey { id, master_key, wrapped })
    }

    fn opened(&self, organization: OrganizationId, key: &WrappedKey) -> Result<KeyBytes, KeyError> {
        let opened =
            self.open(&key.master_key, &bound_to(organization, key.id, &key.master_key), &key.wrapped)?;
        to_key(&opened).ok_or(KeyError::NotOpened)
    }

    /// Seals bytes with the active master key. Returns its id, and the sealed bytes after their nonce.
    /// `bound_to` returns the associated data for the id of the master key.
    pub(crate) fn seal(
        &self,
        bound_to: impl Fn(&str) -> Vec<u8>,
        plain: &[u8],
    ) -> Result<(String, Vec<u8>), KeyError> {
        let master = self.keys.first().ok_or(KeyError::Failed)?;
        let (nonce, sealed) = master.cipher.seal(&bound_to(&master.id), plain)?;
        Ok((master.id.clone(), [&nonce[..], &sealed].concat()))
    }

    /// Opens bytes that a master key has sealed.
    pub(crate) fn open(
        &self,
        master_key: &str,
        bound_to: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let master = self.keys.iter().find(|master| master.id == master_key);
        let master = master.ok_or_else(|| KeyError::UnknownMasterKey(master_key.to_owned()))?;
        master.cipher.open_with_nonce(bound_to, sealed)
    }
}

fn bound_to(organization: OrganizationId, key: OrganizationKeyId, master: &str) -> Vec<u8> {
    let (organization, key) = (organization.uuid(), key.uuid());
    associated_data(&[
        b"greenroom organization key",
        organization.as_bytes(),
        key.as_bytes(),
        master.as_bytes(),
    ])
}

fn is_id(text: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=MAX_ID_BYTES).contains(&text.len()) && text.bytes().all(is_allowed)
}

fn decoded(text: &str) -> Option<KeyBytes> {
    to_key(&Zeroizing::new(STANDARD.decode(text.trim()).ok()?))
}

/// Copies a key into memory that is overwritten when it is dropped.
fn to_key(bytes: &[u8]) -> Option<KeyBytes> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    if bytes.len() != KEY_BYTES {
        return None;
    }
    key.copy_from_slice(bytes);
    Some(key)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn line(id: &str, byte: u8) -> String {
        format!("{id}:{}\n", STANDARD.encode([byte; KEY_BYTES]))
    }

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn organization(number: u128) -> OrganizationId {
        OrganizationId::from(Uuid::from_u128(number))
    }

    fn key_id(number: u128) -> OrganizationKeyId {
        OrganizationKeyId::from(Uuid::from_u128(number))
    }

    #[test]
    fn the_first_key_is_active_and_errors_name_the_line() {
        let text = format!("# keys\n\n{}{}", line("new", 2), line("old", 1));
        assert_eq!(ring(&text).active_id(), "new");
        for (text, expected) in [
            (String::new(), InvalidKeyRing::Empty),
            ("# nothing\n".to_owned(), InvalidKeyRing::Empty),
            (format!("{}nonsense\n", line("a", 1)), InvalidKeyRing::Line(2)),
            (line("A", 1), InvalidKeyRing::Line(1)),
            (line("", 1), InvalidKeyRing::Line(1)),
            ("a:c2hvcnQ=\n".to_owned(), InvalidKeyRing::Key(1)),
            ("a:%%%\n".to_owned(), InvalidKeyRing::Key(1)),
            (format!("{}{}", line("a", 1), line("a", 2)), InvalidKeyRing::Repeated(2)),
        ] {
            assert_eq!(KeyRing::parse(&text).err(), Some(expected));
        }
    }

    #[test]
    fn a_new_master_key_opens_what_the_old_one_wrapped_and_wraps_it_again() {
        let old = ring(&line("old", 1));
        let wrapped = old.create(organization(1), key_id(1)).unwrap();
        assert_eq!(wrapped.master_key, "old");
        let both = ring(&format!("{}{}", line("new", 2), line("old", 1)));
        let rewrapped = both.rewrap(organization(1), &wrapped).unwrap().unwrap();
        assert_eq!((rewrapped.id, rewrapped.master_key.as_str()), (wrapped.id, "new"));
        assert_eq!(both.rewrap(organization(1), &rewrapped), Ok(None));
        let new = ring(&line("new", 2));
        let body = b"the same data key";
        let fingerprints: Vec<_> = [(&old, &wrapped), (&both, &wrapped), (&new, &rewrapped)]
            .map(|(ring, key)| ring.open_key(organization(1), key).unwrap().fingerprint(body))
            .into();
        assert!(fingerprints.iter().all(|fingerprint| *fingerprint == fingerprints[0]));
        let missing = new.open_key(organization(1), &wrapped).err();
        assert_eq!(missing, Some(KeyError::UnknownMasterKey("old".to_owned())));
    }

    #[test]
    fn a_wrapped_key_opens_only_in_its_own_row() {
        let ring = ring(&format!("{}{}", line("new", 2), line("old", 1)));
        let wrapped = ring.create(organization(1), key_id(1)).unwrap();
        let not_opened = |organization, key: WrappedKey| {
            assert_eq!(ring.open_key(organization, &key).err(), Some(KeyError::NotOpened));
        };
        not_opened(organization(2), wrapped.clone());
        not_opened(organization(1), WrappedKey { id: key_id(2), ..wrapped.clone() });
        not_opened(organization(1), WrappedKey { master_key: "old".to_owned(), ..wrapped.clone() });
        for at in 0..wrapped.wrapped.len() {
            let mut damaged = wrapped.clone();
            damaged.wrapped[at] ^= 1;
            not_opened(organization(1), damaged);
            not_opened(
                organization(1),
                WrappedKey { wrapped: wrapped.wrapped[..at].to_vec(), ..wrapped.clone() },
            );
        }
        assert!(ring.open_key(organization(1), &wrapped).is_ok());
    }
}
