//! Exchanging the token of a CI system for a token of a service account (RFC 8693).

pub mod issuer_keys;
