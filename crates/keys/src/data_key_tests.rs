use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_domain::id::{ForgeId, PipelineId, RegistryId, SecretId};
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
        assert!(!fixture.opens(row, &SealedValue { sealed: value.sealed[..at].to_vec(), ..value.clone() }));
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

const URLS: [&str; 3] =
    ["https://git.example.com/steps.git", "https://git.example.com/steps", "https://evil.example/steps.git"];

/// Where the credential of a registry can be moved to: organization, registry, address, key.
fn credential_rows() -> Vec<(usize, u128, &'static str, usize)> {
    let mut rows = Vec::new();
    for (own, registry, key) in (0..8).map(|n| (n & 1, (n >> 1) & 1, n >> 2)) {
        rows.extend(URLS.map(|url| (own, registry as u128, url, key)));
    }
    rows
}

#[test]
fn the_credential_of_a_registry_opens_for_no_other_registry_or_address() {
    let (fixture, rows) = (Fixture::new(), credential_rows());
    let data_key =
        |(own, _, _, key)| fixture.ring.open_key(organization(own), &fixture.keys[own][key]).unwrap();
    let place = |(_, registry, url, _)| CredentialPlace { registry: RegistryId::from(uuid(registry)), url };
    let value = Secret::new(VALUE.to_vec()).unwrap_or_else(|error| panic!("{error}"));
    for from in &rows {
        let sealed = data_key(*from).seal_credential(place(*from), &value).unwrap();
        for to in &rows {
            let key = data_key(*to);
            let moved = SealedValue { key: key.id(), ..sealed.clone() };
            let opened = key.open_credential(place(*to), &moved);
            let is_opened = opened.is_ok_and(|opened| opened.reveal() == VALUE);
            assert_eq!(is_opened, from == to, "{from:?} in the row of {to:?}");
        }
    }
}

#[test]
fn a_credential_and_the_value_of_a_secret_are_not_interchangeable() {
    let fixture = Fixture::new();
    let row = &rows()[0];
    let key = fixture.data_key(row);
    let value = Secret::new(VALUE.to_vec()).unwrap_or_else(|error| panic!("{error}"));
    let registry = RegistryId::from(row.secret.uuid());
    let credential = CredentialPlace { registry, url: "" };
    let sealed = key.seal_credential(credential, &value).unwrap();
    assert!(key.open(place(row), &sealed).is_err());
    assert!(key.open_credential(credential, &fixture.seal(row)).is_err());
    assert!(key.open_credential(credential, &sealed).is_ok());
}

#[test]
fn the_credential_of_a_forge_opens_for_no_other_forge_or_address() {
    let (fixture, rows) = (Fixture::new(), credential_rows());
    let data_key =
        |(own, _, _, key)| fixture.ring.open_key(organization(own), &fixture.keys[own][key]).unwrap();
    let place = |(_, forge, address, _)| ForgeCredentialPlace { forge: ForgeId::from(uuid(forge)), address };
    let value = Secret::new(VALUE.to_vec()).unwrap_or_else(|error| panic!("{error}"));
    for from in &rows {
        let sealed = data_key(*from).seal_forge_credential(place(*from), &value).unwrap();
        for to in &rows {
            let key = data_key(*to);
            let moved = SealedValue { key: key.id(), ..sealed.clone() };
            let opened = key.open_forge_credential(place(*to), &moved);
            let is_opened = opened.is_ok_and(|opened| opened.reveal() == VALUE);
            assert_eq!(is_opened, from == to, "{from:?} in the row of {to:?}");
            // That of a registry with the same id and address is another one.
            let registry = CredentialPlace { registry: RegistryId::from(uuid(to.1)), url: to.2 };
            assert!(key.open_credential(registry, &moved).is_err());
        }
    }
}

#[test]
fn the_credential_of_a_model_opens_for_no_other_organization_or_address() {
    let (fixture, rows) = (Fixture::new(), credential_rows());
    let data_key =
        |(own, _, _, key)| fixture.ring.open_key(organization(own), &fixture.keys[own][key]).unwrap();
    let place = |(_, _, address, _)| ModelCredentialPlace { address };
    // An organization has one model, so rows that differ by the id of a registry only are the same place.
    let target = |(own, _, address, key)| (own, address, key);
    let value = Secret::new(VALUE.to_vec()).unwrap_or_else(|error| panic!("{error}"));
    for from in &rows {
        let sealed = data_key(*from).seal_model_credential(place(*from), &value).unwrap();
        for to in &rows {
            let key = data_key(*to);
            let moved = SealedValue { key: key.id(), ..sealed.clone() };
            let opened = key.open_model_credential(place(*to), &moved);
            let is_opened = opened.is_ok_and(|opened| opened.reveal() == VALUE);
            assert_eq!(is_opened, target(*from) == target(*to), "{from:?} in the row of {to:?}");
            // Those of a forge and of a registry with the same address are others.
            let forge = ForgeCredentialPlace { forge: ForgeId::from(uuid(to.1)), address: to.2 };
            let registry = CredentialPlace { registry: RegistryId::from(uuid(to.1)), url: to.2 };
            assert!(key.open_forge_credential(forge, &moved).is_err());
            assert!(key.open_credential(registry, &moved).is_err());
        }
    }
}
