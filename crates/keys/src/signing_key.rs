//! Keys that sign id tokens: RSA of 2048 bits, for RS256, which every relying party supports. A private key
//! is sealed with a master key.

use std::collections::BTreeMap;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use greenroom_domain::id::SigningKeyId;
use greenroom_domain::id_token::{PublicKey, SealedSigningKey};
use openidconnect::core::{
    CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm,
};
use openidconnect::{
    AdditionalClaims, IdToken, IdTokenClaims, JsonWebKeyId, PrivateSigningKey, SigningError,
};
use pkcs1::RsaPublicKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::associated_data::associated_data;
use crate::{KeyError, KeyRing};

/// A key that signs id tokens. It can't be printed.
pub struct SigningKey {
    id: SigningKeyId,
    pair: KeyPair,
    /// The numbers of the public key, big-endian.
    modulus: Vec<u8>,
    exponent: Vec<u8>,
}

/// The claims beyond those that OpenID Connect defines.
#[derive(Debug, Serialize, Deserialize)]
struct OwnClaims(BTreeMap<String, Value>);

impl AdditionalClaims for OwnClaims {}

type Claims = IdTokenClaims<OwnClaims, CoreGenderClaim>;
type Token = IdToken<OwnClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm>;

impl KeyRing {
    /// Makes a new signing key. This takes a good part of a second of computation.
    pub fn create_signing_key(&self, id: SigningKeyId) -> Result<SealedSigningKey, KeyError> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| KeyError::Failed)?;
        self.seal_signing_key(&SigningKey::new(id, pair)?)
    }

    /// Opens a signing key. It does not open if the row's public key is not its own: so only keys that a holder
    /// of the master key has made are ever published.
    pub fn open_signing_key(&self, key: &SealedSigningKey) -> Result<SigningKey, KeyError> {
        let opened = self.open(&key.master_key, &bound_to(key.id, &key.master_key), &key.sealed)?;
        let pair = KeyPair::from_pkcs8(&opened).map_err(|_| KeyError::NotOpened)?;
        let opened = SigningKey::new(key.id, pair)?;
        if opened.public() == key.public { Ok(opened) } else { Err(KeyError::NotOpened) }
    }

    /// Seals a signing key with the active master key. Returns `None` if it is sealed with that one already.
    pub fn rewrap_signing_key(&self, key: &SealedSigningKey) -> Result<Option<SealedSigningKey>, KeyError> {
        if key.master_key == self.active_id() {
            return Ok(None);
        }
        self.seal_signing_key(&self.open_signing_key(key)?).map(Some)
    }

    fn seal_signing_key(&self, key: &SigningKey) -> Result<SealedSigningKey, KeyError> {
        let private: Pkcs8V1Der<'static> = key.pair.as_der().map_err(|_| KeyError::Failed)?;
        let (master_key, sealed) = self.seal(|master| bound_to(key.id, master), private.as_ref())?;
        Ok(SealedSigningKey { id: key.id, master_key, sealed, public: key.public() })
    }
}

impl SigningKey {
    fn new(id: SigningKeyId, pair: KeyPair) -> Result<Self, KeyError> {
        let public = RsaPublicKey::try_from(pair.public_key().as_ref()).map_err(|_| KeyError::Failed)?;
        let (modulus, exponent) =
            (public.modulus.as_bytes().to_vec(), public.public_exponent.as_bytes().to_vec());
        Ok(Self { id, pair, modulus, exponent })
    }

    pub const fn id(&self) -> SigningKeyId {
        self.id
    }

    pub fn public(&self) -> PublicKey {
        PublicKey {
            modulus: URL_SAFE_NO_PAD.encode(&self.modulus),
            exponent: URL_SAFE_NO_PAD.encode(&self.exponent),
        }
    }

    /// Returns a signed token with these claims. `iss`, `sub`, `aud`, `iat` and `exp` have to be among them.
    pub fn sign(&self, claims: &impl Serialize) -> Result<Zeroizing<String>, KeyError> {
        let claims = serde_json::to_value(claims).map_err(|_| KeyError::Failed)?;
        let claims: Claims = serde_json::from_value(claims).map_err(|_| KeyError::Failed)?;
        let token = Token::new(claims, self, CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256, None, None);
        let token = token.map_err(|_| KeyError::Failed)?;
        Ok(Zeroizing::new(token.to_string()))
    }
}

impl PrivateSigningKey for SigningKey {
    type VerificationKey = CoreJsonWebKey;

    fn sign(&self, algorithm: &CoreJwsSigningAlgorithm, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        if *algorithm != CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256 {
            return Err(SigningError::UnsupportedAlg(format!("{algorithm:?}")));
        }
        let mut signature = vec![0; self.pair.public_modulus_len()];
        let signed = self.pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature);
        signed.map(|()| signature).map_err(|_| SigningError::CryptoError)
    }

    fn as_verification_key(&self) -> CoreJsonWebKey {
        let id = JsonWebKeyId::new(self.id.to_string());
        CoreJsonWebKey::new_rsa(self.modulus.clone(), self.exponent.clone(), Some(id))
    }
}

fn bound_to(key: SigningKeyId, master: &str) -> Vec<u8> {
    associated_data(&[b"greenroom signing key", key.uuid().as_bytes(), master.as_bytes()])
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use openidconnect::core::{CoreIdTokenVerifier, CoreJsonWebKeySet};
    use openidconnect::{ClientId, IssuerUrl, Nonce};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn ring(keys: &[(&str, u8)]) -> KeyRing {
        let lines: Vec<_> =
            keys.iter().map(|(id, byte)| format!("{id}:{}", STANDARD.encode([*byte; 32]))).collect();
        KeyRing::parse(&lines.join("\n")).unwrap()
    }

    fn key_id(number: u128) -> SigningKeyId {
        SigningKeyId::from(Uuid::from_u128(number))
    }

    fn verify(token: &str, keys: &[Value], audience: &str) -> Result<(), String> {
        let keys: CoreJsonWebKeySet = serde_json::from_value(json!({ "keys": keys })).unwrap();
        let issuer = IssuerUrl::new("https://greenroom.example".to_owned()).unwrap();
        let verifier =
            CoreIdTokenVerifier::new_public_client(ClientId::new(audience.to_owned()), issuer, keys);
        let token: Token = token.parse().map_err(|error: serde_json::Error| error.to_string())?;
        let no_nonce = |_: Option<&Nonce>| Ok(());
        token.claims(&verifier, no_nonce).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_relying_party_verifies_a_token_by_the_published_key() {
        let ring = ring(&[("a", 1)]);
        let [sealed, other] = [1, 2].map(|number| ring.create_signing_key(key_id(number)).unwrap());
        let key = ring.open_signing_key(&sealed).unwrap();
        assert_eq!((key.id(), key.public()), (sealed.id, sealed.public.clone()));
        let claims = json!({
            "iss": "https://greenroom.example", "sub": "organization:a", "aud": "sts.example",
            "iat": 1_700_000_000, "nbf": 1_700_000_000, "exp": 4_000_000_000_u64, "stage": "ship", "attempt": 2,
        });
        let token = key.sign(&claims).unwrap();
        let parts: Vec<Value> = token
            .split('.')
            .take(2)
            .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
            .collect();
        assert_eq!(parts[0], json!({ "alg": "RS256", "kid": key_id(1) }));
        let mut expected = claims.clone();
        expected["aud"] = json!(["sts.example"]);
        assert_eq!(parts[1], expected);

        let (own, other) = (sealed.public.jwk(sealed.id), other.public.jwk(other.id));
        assert_eq!(verify(&token, &[other.clone(), own.clone()], "sts.example"), Ok(()));
        // What a thief of a token, or an attacker with another key, tries.
        assert!(verify(&token, std::slice::from_ref(&own), "other.example").is_err());
        assert!(verify(&token, std::slice::from_ref(&other), "sts.example").is_err());
        let mut impostor = other;
        impostor["kid"] = json!(key_id(1));
        assert!(verify(&token, &[impostor], "sts.example").is_err());
        let mut expired = claims;
        expired["exp"] = json!(1_700_000_600);
        let expired = key.sign(&expired).unwrap();
        assert!(verify(&expired, &[own], "sts.example").is_err());
    }

    #[test]
    fn claims_without_an_expiry_or_an_issuer_are_not_signed() {
        let ring = ring(&[("a", 1)]);
        let key = ring.open_signing_key(&ring.create_signing_key(key_id(1)).unwrap()).unwrap();
        for missing in ["iss", "sub", "iat", "exp"] {
            let mut claims =
                json!({ "iss": "https://a.example", "sub": "s", "aud": "a", "iat": 1, "exp": 2 });
            claims.as_object_mut().unwrap().remove(missing);
            assert_eq!(key.sign(&claims).err(), Some(KeyError::Failed), "{missing}");
        }
    }

    #[test]
    fn a_signing_key_opens_only_in_its_own_row() {
        let both = ring(&[("new", 2), ("old", 1)]);
        let sealed = both.create_signing_key(key_id(1)).unwrap();
        let not_opened = |key: SealedSigningKey| {
            assert_eq!(both.open_signing_key(&key).err(), Some(KeyError::NotOpened));
        };
        not_opened(SealedSigningKey { id: key_id(2), ..sealed.clone() });
        not_opened(SealedSigningKey { master_key: "old".to_owned(), ..sealed.clone() });
        // A public key that was put in place of the row's own.
        let public = both.create_signing_key(key_id(2)).unwrap().public;
        not_opened(SealedSigningKey { public, ..sealed.clone() });
        for at in [0, 11, 12, sealed.sealed.len() / 2, sealed.sealed.len() - 1] {
            let mut damaged = sealed.clone();
            damaged.sealed[at] ^= 1;
            not_opened(damaged);
        }
        assert!(both.open_signing_key(&sealed).is_ok());
    }

    #[test]
    fn a_new_master_key_seals_a_signing_key_again() {
        let sealed = ring(&[("old", 1)]).create_signing_key(key_id(1)).unwrap();
        let both = ring(&[("new", 2), ("old", 1)]);
        let resealed = both.rewrap_signing_key(&sealed).unwrap().unwrap();
        assert_eq!((resealed.master_key.as_str(), &resealed.public), ("new", &sealed.public));
        assert_eq!(both.rewrap_signing_key(&resealed), Ok(None));
        let new = ring(&[("new", 2)]);
        assert!(new.open_signing_key(&resealed).is_ok());
        assert_eq!(new.open_signing_key(&sealed).err(), Some(KeyError::UnknownMasterKey("old".to_owned())));
    }
}
