//! Verifies the signatures of tokens that other issuers have signed: RS256 and ES256 only, by the issuer's published keys.
//! What the claims mean is decided elsewhere.

use aws_lc_rs::digest::{SHA256, digest};
use jsonwebtoken::dangerous::insecure_decode;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;
use serde_json::{Map, Value};

const MAX_TOKEN_BYTES: usize = 16 << 10;
/// Keys beyond these are ignored.
const MAX_KEYS: usize = 64;

/// Why a token is rejected before its claims count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnverifiedToken {
    #[error("it is not a signed token of at most {MAX_TOKEN_BYTES} bytes")]
    Form,
    #[error("it is signed with another algorithm than RS256 and ES256")]
    Algorithm,
    #[error("its header names no key (`kid`)")]
    NoKeyId,
    #[error("its header has extensions that must be understood (`crit`)")]
    Critical,
    #[error("the issuer has no such key")]
    UnknownKey,
    #[error("its signature is not valid")]
    Signature,
}

/// A token whose signature has not been verified. Its claims can be read only to find the issuer.
pub struct SubjectToken<'a> {
    algorithm: Algorithm,
    key_id: String,
    text: &'a str,
    claimed_issuer: Option<String>,
}

/// The claims of a token whose signature is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    pub claims: Map<String, Value>,
    /// The digest of what was signed. It identifies a token also if it has no `jti`; unlike the signature, it can't be
    /// changed by a holder of the token.
    pub digest: [u8; 32],
}

impl<'a> SubjectToken<'a> {
    pub fn parse(text: &'a str) -> Result<Self, UnverifiedToken> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(UnverifiedToken::Form);
        }
        let token = insecure_decode::<Map<String, Value>>(text).map_err(|_| UnverifiedToken::Form)?;
        let algorithm = token.header.alg;
        if !matches!(algorithm, Algorithm::RS256 | Algorithm::ES256) {
            return Err(UnverifiedToken::Algorithm);
        }
        if token.header.crit.is_some() {
            return Err(UnverifiedToken::Critical);
        }
        let key_id = token.header.kid.filter(|id| !id.is_empty()).ok_or(UnverifiedToken::NoKeyId)?;
        let claimed_issuer = token.claims.get("iss").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { algorithm, key_id, text, claimed_issuer })
    }

    /// Returns `iss`, which is not verified yet.
    pub fn claimed_issuer(&self) -> Option<&str> {
        self.claimed_issuer.as_deref()
    }

    /// Returns whether the issuer has published the key that the token names.
    pub fn has_key_in(&self, keys: &IssuerKeys) -> bool {
        self.keys_in(keys).next().is_some()
    }

    fn keys_in<'k>(&self, keys: &'k IssuerKeys) -> impl Iterator<Item = &'k DecodingKey> {
        let (algorithm, id) = (self.algorithm, self.key_id.clone());
        keys.0.iter().filter(move |key| key.id == id && key.algorithm == algorithm).map(|key| &key.key)
    }

    pub fn verify(self, keys: &IssuerKeys) -> Result<VerifiedToken, UnverifiedToken> {
        if !self.has_key_in(keys) {
            return Err(UnverifiedToken::UnknownKey);
        }
        let validation = signature_only(self.algorithm);
        let claims = self
            .keys_in(keys)
            .find_map(|key| decode::<Map<String, Value>>(self.text, key, &validation).ok())
            .ok_or(UnverifiedToken::Signature)?
            .claims;
        let (signed, _) = self.text.rsplit_once('.').ok_or(UnverifiedToken::Form)?;
        let mut own_digest = [0; 32];
        own_digest.copy_from_slice(digest(&SHA256, signed.as_bytes()).as_ref());
        Ok(VerifiedToken { claims, digest: own_digest })
    }
}

/// Times, issuer and audience are compared with a trust policy afterwards.
fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

/// The public keys of an issuer that can verify a supported algorithm.
#[derive(Clone, Debug, Default)]
pub struct IssuerKeys(Vec<IssuerKey>);

#[derive(Clone, Debug)]
struct IssuerKey {
    id: String,
    algorithm: Algorithm,
    key: DecodingKey,
}

/// The document is not a JSON Web Key Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document with the issuer's keys is not a JSON Web Key Set")]
pub struct InvalidKeySet;

/// The keys are read one by one, so that a key of an unknown form does not hide the others.
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl IssuerKeys {
    /// Reads a JSON Web Key Set (RFC 7517). Keys of other kinds and uses are ignored: issuers publish those too.
    pub fn parse(document: &[u8]) -> Result<Self, InvalidKeySet> {
        let set: KeySet = serde_json::from_slice(document).map_err(|_| InvalidKeySet)?;
        let keys = set.keys.into_iter().take(MAX_KEYS);
        Ok(Self(keys.filter_map(|key| IssuerKey::read(&serde_json::from_value(key).ok()?)).collect()))
    }
}

impl IssuerKey {
    fn read(key: &Jwk) -> Option<Self> {
        let (algorithm, name) = match &key.algorithm {
            AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
            AlgorithmParameters::EllipticCurve(point) if point.curve == EllipticCurve::P256 => {
                (Algorithm::ES256, KeyAlgorithm::ES256)
            }
            _ => return None,
        };
        let common = &key.common;
        let is_for_signatures =
            common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
        let has_algorithm = common.key_algorithm.is_none_or(|other| other == name);
        if !is_for_signatures || !has_algorithm {
            return None;
        }
        Some(Self { id: common.key_id.clone()?, algorithm, key: DecodingKey::from_jwk(key).ok()? })
    }
}
