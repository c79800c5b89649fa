//! A JSON Web Token as its bearer reads it, without a check of its signature.

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token {
    text: String,
    pub(super) key_id: String,
    pub(super) claims: Value,
    /// In seconds since 1970.
    pub(super) expires_at: i64,
}

impl Token {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut parts = text.split('.');
        let header = decode(parts.next())?;
        let claims = decode(parts.next())?;
        Ok(Self {
            text: text.to_owned(),
            key_id: header["kid"].as_str().context("a token without `kid`")?.to_owned(),
            expires_at: claims["exp"].as_i64().context("a token without `exp`")?,
            claims,
        })
    }
}

fn decode(part: Option<&str>) -> anyhow::Result<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(part.context("a token with too few parts")?)?;
    serde_json::from_slice(&bytes).context("a part of a token is not JSON")
}

#[cfg(test)]
impl Token {
    /// Returns a token whose signature is invalid.
    pub(super) fn unsigned(header: &str, claims: &str) -> anyhow::Result<Self> {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        Self::parse(&format!("{}.{}.none", part(header), part(claims)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_token_is_an_error() {
        let token = Token::unsigned(r#"{"kid":"k"}"#, r#"{"exp":7}"#).unwrap();
        assert_eq!((token.key_id.as_str(), token.expires_at), ("k", 7));
        for text in ["", "a", "a.b.c"] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
        assert!(Token::unsigned("{}", r#"{"exp":7}"#).is_err());
        assert!(Token::unsigned(r#"{"kid":"k"}"#, "{}").is_err());
    }
}
