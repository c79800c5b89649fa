//! Verifies the signatures of tokens that other issuers have signed: RS256 and ES256 only, by the issuer's published keys.
//! What the claims mean is decided elsewhere.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

const MAX_TOKEN_BYTES: usize = 16 << 10;
/// Keys beyond these are ignored.
const MAX_KEYS: usize = 64;
const COORDINATE_BYTES: usize = 32;
/// The prefix of an uncompressed point.
const UNCOMPRESSED: u8 = 4;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Es256,
}

/// A token whose signature has not been verified. Its claims can be read only to find the issuer.
pub struct SubjectToken<'a> {
    algorithm: Algorithm,
    key_id: String,
    signed: &'a str,
    signature: Vec<u8>,
    claims: Map<String, Value>,
}

/// The claims of a token whose signature is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    pub claims: Map<String, Value>,
    /// The digest of what was signed. It identifies a token also if it has no `jti`; unlike the signature, it can't be
    /// changed by a holder of the token.
    pub digest: [u8; 32],
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

impl<'a> SubjectToken<'a> {
    pub fn parse(text: &'a str) -> Result<Self, UnverifiedToken> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(UnverifiedToken::Form);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(UnverifiedToken::Form)?;
        let (header, payload) = signed.split_once('.').ok_or(UnverifiedToken::Form)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| UnverifiedToken::Form);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| UnverifiedToken::Form)?;
        let algorithm = match header.alg.as_str() {
            "RS256" => Algorithm::Rs256,
            "ES256" => Algorithm::Es256,
            _ => return Err(UnverifiedToken::Algorithm),
        };
        if header.crit.is_some() {
            return Err(UnverifiedToken::Critical);
        }
        let key_id = header.kid.filter(|id| !id.is_empty()).ok_or(UnverifiedToken::NoKeyId)?;
        let claims = serde_json::from_slice(&decode(payload)?).map_err(|_| UnverifiedToken::Form)?;
        Ok(Self { algorithm, key_id, signed, signature: decode(signature)?, claims })
    }

    /// Returns `iss`, which is not verified yet.
    pub fn claimed_issuer(&self) -> Option<&str> {
        self.claims.get("iss").and_then(Value::as_str)
    }

    /// Returns whether the issuer has published the key that the token names.
    pub fn has_key_in(&self, keys: &IssuerKeys) -> bool {
        self.keys_in(keys).next().is_some()
    }

    fn keys_in<'k>(&self, keys: &'k IssuerKeys) -> impl Iterator<Item = &'k PublicKey> {
        let (algorithm, id) = (self.algorithm, self.key_id.clone());
        keys.0
            .iter()
            .filter(move |(key_id, key)| *key_id == id && key.algorithm() == algorithm)
            .map(|(_, key)| key)
    }

    pub fn verify(self, keys: &IssuerKeys) -> Result<VerifiedToken, UnverifiedToken> {
        if !self.has_key_in(keys) {
            return Err(UnverifiedToken::UnknownKey);
        }
        let signed = self.signed.as_bytes();
        if !self.keys_in(keys).any(|key| key.verifies(signed, &self.signature)) {
            return Err(UnverifiedToken::Signature);
        }
        let mut own_digest = [0; 32];
        own_digest.copy_from_slice(digest(&SHA256, signed).as_ref());
        Ok(VerifiedToken { claims: self.claims, digest: own_digest })
    }
}

/// The public keys of an issuer that can verify a supported algorithm, by their ids.
#[derive(Clone, Debug, Default)]
pub struct IssuerKeys(Vec<(String, PublicKey)>);

#[derive(Clone, Debug)]
enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of P-256.
    P256(Vec<u8>),
}

/// The document is not a JSON Web Key Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document with the issuer's keys is not a JSON Web Key Set")]
pub struct InvalidKeySet;

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct JsonWebKey {
    kid: String,
    kty: String,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl IssuerKeys {
    /// Reads a JSON Web Key Set (RFC 7517). Keys of other kinds and uses are ignored: issuers publish those too.
    pub fn parse(document: &[u8]) -> Result<Self, InvalidKeySet> {
        let set: KeySet = serde_json::from_slice(document).map_err(|_| InvalidKeySet)?;
        let keys = set.keys.into_iter().take(MAX_KEYS);
        Ok(Self(keys.filter_map(|key| PublicKey::read(serde_json::from_value(key).ok()?)).collect()))
    }
}

impl PublicKey {
    fn read(key: JsonWebKey) -> Option<(String, Self)> {
        let decode = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let public = match key.kty.as_str() {
            "RSA" => Self::Rsa { modulus: decode(key.n)?, exponent: decode(key.e)? },
            "EC" if key.crv.as_deref() == Some("P-256") => {
                let (x, y) = (decode(key.x)?, decode(key.y)?);
                if x.len() != COORDINATE_BYTES || y.len() != COORDINATE_BYTES {
                    return None;
                }
                Self::P256([&[UNCOMPRESSED][..], &x, &y].concat())
            }
            _ => return None,
        };
        let is_for_signatures = key.usage.is_none_or(|usage| usage == "sig");
        let has_algorithm = key.alg.is_none_or(|name| name == public.algorithm().name());
        (is_for_signatures && has_algorithm).then_some((key.kid, public))
    }

    const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
        }
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
        }
    }
}

impl Algorithm {
    const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
        }
    }
}
