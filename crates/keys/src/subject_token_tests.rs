//! Tokens that an attacker would send.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pkcs1::RsaPublicKey;
use serde_json::{Value, json};

use crate::subject_token::{IssuerKeys, SubjectToken, UnverifiedToken, VerifiedToken};

struct Issuer {
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
}

fn encode(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

fn join(signed: &str, signature: &[u8]) -> String {
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

impl Issuer {
    fn new() -> Self {
        Self {
            rsa: RsaKeyPair::generate(KeySize::Rsa2048).unwrap(),
            p256: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
        }
    }

    fn rsa_key(&self) -> Value {
        let public = RsaPublicKey::try_from(self.rsa.public_key().as_ref()).unwrap();
        let (n, e) = (public.modulus.as_bytes(), public.public_exponent.as_bytes());
        json!({ "kty": "RSA", "kid": "r", "n": URL_SAFE_NO_PAD.encode(n), "e": URL_SAFE_NO_PAD.encode(e) })
    }

    fn p256_key(&self) -> Value {
        let point = self.p256.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|part| URL_SAFE_NO_PAD.encode(part));
        json!({ "kty": "EC", "crv": "P-256", "kid": "e", "use": "sig", "alg": "ES256", "x": x, "y": y })
    }

    fn keys(&self) -> IssuerKeys {
        keys(&[self.rsa_key(), self.p256_key()])
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encode(header), encode(claims));
        if header["kid"] == "e" {
            return join(&signed, self.p256.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref());
        }
        let mut signature = vec![0; self.rsa.public_modulus_len()];
        self.rsa.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
        join(&signed, &signature)
    }
}

fn keys(list: &[Value]) -> IssuerKeys {
    IssuerKeys::parse(json!({ "keys": list }).to_string().as_bytes()).unwrap()
}

fn verify(token: &str, keys: &IssuerKeys) -> Result<VerifiedToken, UnverifiedToken> {
    SubjectToken::parse(token)?.verify(keys)
}

fn claims() -> Value {
    json!({ "iss": "https://issuer.example", "sub": "a", "ref": "refs/heads/main" })
}

#[test]
fn tokens_of_the_issuer_are_verified() {
    let issuer = Issuer::new();
    for header in [json!({ "alg": "RS256", "kid": "r", "typ": "JWT" }), json!({ "alg": "ES256", "kid": "e" })]
    {
        let token = issuer.sign(&header, &claims());
        let parsed = SubjectToken::parse(&token).unwrap();
        assert_eq!(parsed.claimed_issuer(), Some("https://issuer.example"));
        assert!(parsed.has_key_in(&issuer.keys()));
        let verified = parsed.verify(&issuer.keys()).unwrap();
        assert_eq!(Value::Object(verified.claims), claims());
    }
}

#[test]
fn the_digest_does_not_depend_on_the_signature() {
    let (issuer, header) = (Issuer::new(), json!({ "alg": "ES256", "kid": "e" }));
    // A signature of ECDSA differs each time, and a holder of a token can make another valid one of it.
    let tokens = [issuer.sign(&header, &claims()), issuer.sign(&header, &claims())];
    assert_ne!(tokens[0], tokens[1]);
    let digests = tokens.map(|token| verify(&token, &issuer.keys()).unwrap().digest);
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn forged_tokens_are_rejected() {
    use UnverifiedToken::*;
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let rs256 = json!({ "alg": "RS256", "kid": "r" });
    let good = issuer.sign(&rs256, &claims());
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>().try_into().unwrap();
    let admin = encode(&json!({ "iss": "https://issuer.example", "sub": "admin" }));
    let with_header = |header: Value| format!("{}.{payload}.{signature}", encode(&header));

    // HS256 with the public key as the secret, in the forms that libraries have confused.
    let public_der = issuer.rsa.public_key().as_der().unwrap();
    let modulus = issuer.rsa_key()["n"].as_str().unwrap().to_owned();
    let hs256 =
        [public_der.as_ref(), modulus.as_bytes(), issuer.rsa_key().to_string().as_bytes()].map(|secret| {
            let signed = format!("{}.{admin}", encode(&json!({ "alg": "HS256", "kid": "r" })));
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
            join(&signed, tag.as_ref())
        });
    // A correct signature with another hash.
    let rs384 = {
        let signed = format!("{}.{payload}", encode(&json!({ "alg": "RS384", "kid": "r" })));
        let mut signature = vec![0; issuer.rsa.public_modulus_len()];
        issuer.rsa.sign(&RSA_PKCS1_SHA384, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
        join(&signed, &signature)
    };
    let es256 = issuer.sign(&json!({ "alg": "ES256", "kid": "e" }), &claims());
    let es256_signed = es256.rsplit_once('.').unwrap().0;
    let own_key = other.rsa_key();

    let table = [
        ("no algorithm", with_header(json!({ "alg": "none", "kid": "r" })), Form),
        ("no algorithm, no signature", format!("{}.{admin}.", encode(&json!({ "alg": "none" }))), Form),
        ("none in capitals", with_header(json!({ "alg": "NONE", "kid": "r" })), Form),
        ("lower case", with_header(json!({ "alg": "rs256", "kid": "r" })), Form),
        ("PS256", with_header(json!({ "alg": "PS256", "kid": "r" })), Algorithm),
        ("RS384", rs384, Algorithm),
        ("HS256 with the key's DER", hs256[0].clone(), Algorithm),
        ("HS256 with the modulus", hs256[1].clone(), Algorithm),
        ("HS256 with the key's JSON", hs256[2].clone(), Algorithm),
        ("the RSA key named for ES256", with_header(json!({ "alg": "ES256", "kid": "r" })), UnknownKey),
        ("the EC key named for RS256", with_header(json!({ "alg": "RS256", "kid": "e" })), UnknownKey),
        ("an unknown key", issuer.sign(&json!({ "alg": "RS256", "kid": "x" }), &claims()), UnknownKey),
        ("no key", issuer.sign(&json!({ "alg": "RS256" }), &claims()), NoKeyId),
        ("an empty key id", issuer.sign(&json!({ "alg": "RS256", "kid": "" }), &claims()), NoKeyId),
        ("another issuer's key under this id", other.sign(&rs256, &claims()), Signature),
        (
            "the attacker's key in the header",
            other.sign(
                &json!({ "alg": "RS256", "kid": "r", "jwk": own_key, "jku": "https://evil.example" }),
                &claims(),
            ),
            Signature,
        ),
        ("other claims", format!("{header}.{admin}.{signature}"), Signature),
        ("no signature", format!("{header}.{payload}."), Signature),
        ("a zero signature", join(&format!("{header}.{payload}"), &[0; 256]), Signature),
        ("a zero signature of ECDSA", join(es256_signed, &[0; 64]), Signature),
        ("a short signature of ECDSA", join(es256_signed, &[1; 63]), Signature),
        (
            "critical extensions",
            issuer.sign(&json!({ "alg": "RS256", "kid": "r", "crit": ["b64"], "b64": false }), &claims()),
            Critical,
        ),
        ("two parts", format!("{header}.{payload}"), Form),
        ("four parts", format!("{good}.{signature}"), Form),
        ("five parts, as of an encrypted token", format!("{good}.{signature}.{signature}"), Form),
        ("padding", format!("{header}.{payload}.{signature}=="), Signature),
        ("claims that are a list", issuer.sign(&rs256, &json!(["a"])), Form),
        ("an empty token", String::new(), Form),
        ("spaces", format!(" {good}"), Form),
        ("a long token", format!("{header}.{}.{signature}", "a".repeat(20_000)), Form),
    ];
    for (name, token, reason) in table {
        assert_eq!(verify(&token, &issuer.keys()), Err(reason), "{name}");
    }
    assert!(verify(&good, &issuer.keys()).is_ok());
}

#[test]
fn keys_for_other_uses_are_not_used() {
    let issuer = Issuer::new();
    let token = issuer.sign(&json!({ "alg": "RS256", "kid": "r" }), &claims());
    for (name, value) in [
        ("use", json!("enc")),
        ("alg", json!("RS512")),
        ("alg", json!("RSA-OAEP")),
        ("kty", json!("oct")),
        ("kid", json!("other")),
        ("kid", json!(null)),
        ("n", json!("")),
        ("e", json!("")),
        ("e", json!("AQ")),
        ("n", json!(7)),
    ] {
        let mut key = issuer.rsa_key();
        key[name] = value.clone();
        assert!(verify(&token, &keys(&[key])).is_err(), "{name}: {value}");
    }
    // Others beside it change nothing.
    let others = [json!(null), json!({}), json!({ "kty": "OKP", "kid": "r", "crv": "Ed25519", "x": "AA" })];
    assert!(verify(&token, &keys(&[&others[..], &[issuer.rsa_key()]].concat())).is_ok());
    for document in ["", "{}", "[]", "{\"keys\":{}}", "<html>"] {
        assert!(IssuerKeys::parse(document.as_bytes()).is_err(), "{document}");
    }
}
