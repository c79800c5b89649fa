//! What the database holds of keys and values: sealed bytes, which only the crate `keys` can open.

use super::scope::SecretScope;
use crate::id::{ForgeId, OrganizationKeyId, RegistryId, SecretId};

/// A data key of an organization, wrapped with a master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedKey {
    pub id: OrganizationKeyId,
    /// The id of the master key that wraps it.
    pub master_key: String,
    pub wrapped: Vec<u8>,
}

/// A value, sealed with a data key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedValue {
    pub key: OrganizationKeyId,
    pub nonce: Vec<u8>,
    pub sealed: Vec<u8>,
}

/// What a sealed value is bound to, besides its organization and its data key. In any other place it does not
/// open.
#[derive(Clone, Copy, Debug)]
pub struct ValuePlace<'a> {
    pub secret: SecretId,
    pub scope: &'a SecretScope,
    pub version: i32,
}

/// What the sealed credential of a step registry is bound to, besides its organization and its data key. It does not
/// open for another registry or another address, so that a changed row can't send it elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct CredentialPlace<'a> {
    pub registry: RegistryId,
    pub url: &'a str,
}

/// What the sealed credential of an organization's model is bound to, besides the organization and its data key.
#[derive(Clone, Copy, Debug)]
pub struct ModelCredentialPlace<'a> {
    /// Where the credential is sent.
    pub address: &'a str,
}

/// What the sealed credential of a forge is bound to, besides its organization and its data key.
#[derive(Clone, Copy, Debug)]
pub struct ForgeCredentialPlace<'a> {
    pub forge: ForgeId,
    /// Where the credential is sent.
    pub address: &'a str,
}
