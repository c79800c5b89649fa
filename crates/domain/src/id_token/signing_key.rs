//! What the database holds of a signing key: a sealed private key, which only the crate `keys` can open, and
//! the public key.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::id::SigningKeyId;

/// A signing key, sealed with a master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedSigningKey {
    pub id: SigningKeyId,
    /// The id of the master key that seals it.
    pub master_key: String,
    pub sealed: Vec<u8>,
    pub public: PublicKey,
}

/// A public RSA key. The numbers are big-endian, in base64url without padding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    #[serde(rename = "n")]
    pub modulus: String,
    #[serde(rename = "e")]
    pub exponent: String,
}

impl PublicKey {
    /// Returns the JSON Web Key (RFC 7517) with which relying parties verify signatures.
    pub fn jwk(&self, id: SigningKeyId) -> Value {
        let Self { modulus, exponent } = self;
        json!({ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": id, "n": modulus, "e": exponent })
    }
}
