//! Sealing of secrets. A master key of the installation wraps one data key per organization, and the data key
//! seals values. Everything that is sealed is bound to its place by associated data: a row that was moved to
//! another organization, secret, scope or version does not open.
//!
//! Keys that sign id tokens are sealed with the master key directly. Tokens of other issuers are verified by the keys that
//! those publish.
//!
//! This crate sees neither the database nor the network, and it logs nothing.

mod associated_data;
mod data_key;
mod key_ring;
mod signing_key;
mod source;
mod subject_token;
#[cfg(test)]
mod subject_token_tests;

pub use self::data_key::DataKey;
pub use self::key_ring::{InvalidKeyRing, KeyRing};
pub use self::signing_key::SigningKey;
pub use self::source::{KeySource, Keys, NotLoaded};
pub use self::subject_token::{InvalidKeySet, IssuerKeys, SubjectToken, UnverifiedToken, VerifiedToken};

/// Why something could not be sealed or opened. It carries no key and no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the master key `{0}` is not among the keys of this process")]
    UnknownMasterKey(String),
    #[error("the row does not open: it was sealed with another key or for another place, or it is damaged")]
    NotOpened,
    #[error("the system's cryptography failed")]
    Failed,
}
