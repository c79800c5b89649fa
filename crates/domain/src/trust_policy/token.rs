//! Decides about the claims of a token whose signature is valid: for whom, by whom and when it was made.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::issuer::Issuer;

/// How far the clock of an issuer may differ from the database's.
pub const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);
pub const MAX_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
const MAX_ID_BYTES: usize = 255;

/// Why a token is rejected. The client learns only that it is; the audit event names the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRejection {
    #[error("`iss` is not the issuer of the policy")]
    Issuer,
    #[error("`aud` is not the audience of the policy, and no other")]
    Audience,
    #[error("`{0}` is missing, or not a time")]
    Time(&'static str),
    #[error("the token has expired (`exp`)")]
    Expired,
    #[error("the token is not valid yet (`{0}`)")]
    NotYetValid(&'static str),
    #[error("the token is valid for more than 24 hours (`iat`, `exp`)")]
    Lifetime,
    #[error("`jti` is not a text of 1 to {MAX_ID_BYTES} bytes")]
    Id,
}

/// A token that may be used, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedToken {
    /// `jti`. Not every CI system sends it; without it, the caller identifies a token by the digest of what was signed.
    pub id: Option<String>,
    /// Until when the id has to be kept: after that the token is rejected as expired.
    pub keep_until: Timestamp,
}

impl AcceptedToken {
    /// Returns what identifies the token among those of its issuer: a hash of its id, or without one the digest of what was
    /// signed.
    pub fn replay_id(&self, digest: [u8; 32]) -> [u8; 32] {
        match &self.id {
            Some(id) => Sha256::new().chain_update("jti:").chain_update(id).finalize().into(),
            None => digest,
        }
    }
}

/// `now` is the database's time.
pub fn accept_token(
    claims: &Map<String, Value>,
    issuer: &Issuer,
    audience: &str,
    now: Timestamp,
) -> Result<AcceptedToken, TokenRejection> {
    if claims.get("iss").and_then(Value::as_str) != Some(issuer.as_str()) {
        return Err(TokenRejection::Issuer);
    }
    let is_for_audience = match claims.get("aud") {
        Some(Value::String(text)) => text == audience,
        // A token for several audiences could be exchanged by each of the others.
        Some(Value::Array(list)) => list.len() == 1 && list[0].as_str() == Some(audience),
        _ => false,
    };
    if !is_for_audience {
        return Err(TokenRejection::Audience);
    }
    let time = |name| time(claims, name).ok_or(TokenRejection::Time(name));
    let (issued_at, expires_at) = (time("iat")?, time("exp")?);
    let keep_until = expires_at.checked_add(CLOCK_SKEW).map_err(|_| TokenRejection::Time("exp"))?;
    if keep_until <= now {
        return Err(TokenRejection::Expired);
    }
    let latest_begin = now.checked_add(CLOCK_SKEW).map_err(|_| TokenRejection::NotYetValid("iat"))?;
    if issued_at > latest_begin {
        return Err(TokenRejection::NotYetValid("iat"));
    }
    // Optional in RFC 7519; OpenID providers leave it out of id tokens.
    if claims.contains_key("nbf") && time("nbf")? > latest_begin {
        return Err(TokenRejection::NotYetValid("nbf"));
    }
    let lifetime = expires_at.duration_since(issued_at);
    if lifetime <= SignedDuration::ZERO || lifetime > MAX_LIFETIME {
        return Err(TokenRejection::Lifetime);
    }
    let id = match claims.get("jti") {
        None => None,
        Some(Value::String(id)) if !id.is_empty() && id.len() <= MAX_ID_BYTES => Some(id.clone()),
        Some(_) => return Err(TokenRejection::Id),
    };
    Ok(AcceptedToken { id, keep_until })
}

/// Returns a NumericDate of RFC 7519: seconds, which may have a fraction.
fn time(claims: &Map<String, Value>, name: &str) -> Option<Timestamp> {
    let number = claims.get(name)?.as_number()?;
    let seconds = match number.as_i64() {
        Some(seconds) => seconds,
        None => {
            let seconds = number.as_f64()?.floor();
            let is_in_range = (-1e11..1e11).contains(&seconds);
            if !is_in_range {
                return None;
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it has no fraction, and its range was checked"
            )]
            let seconds = seconds as i64;
            seconds
        }
    };
    Timestamp::from_second(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;
    const HOUR: i64 = 3_600;

    fn accept(change: impl FnOnce(&mut Map<String, Value>)) -> Result<AcceptedToken, TokenRejection> {
        let claims = json!({
            "iss": "https://issuer.example", "aud": "https://greenroom.example", "sub": "s",
            "iat": NOW - 100, "nbf": NOW - 100, "exp": NOW + 300, "jti": "a",
        });
        let mut claims = claims.as_object().unwrap().clone();
        change(&mut claims);
        let issuer = Issuer::new("https://issuer.example").unwrap();
        accept_token(&claims, &issuer, "https://greenroom.example", Timestamp::from_second(NOW).unwrap())
    }

    fn with(name: &str, value: Value) -> Result<AcceptedToken, TokenRejection> {
        accept(|claims| drop(claims.insert(name.to_owned(), value)))
    }

    #[test]
    fn a_correct_token_is_accepted() {
        let keep_until = Timestamp::from_second(NOW + 360).unwrap();
        assert_eq!(accept(|_| ()), Ok(AcceptedToken { id: Some("a".to_owned()), keep_until }));
        assert_eq!(accept(|claims| drop(claims.remove("jti"))).unwrap().id, None);
        assert!(accept(|claims| drop(claims.remove("nbf"))).is_ok());
        let [with_id, without] = [accept(|_| ()), accept(|claims| drop(claims.remove("jti")))];
        assert_eq!(without.unwrap().replay_id([7; 32]), [7; 32]);
        let with_id = with_id.unwrap();
        assert_eq!(with_id.replay_id([7; 32]), with_id.replay_id([8; 32]));
        assert_ne!(with_id.replay_id([7; 32]), [7; 32]);
        for (name, value) in [
            ("aud", json!(["https://greenroom.example"])),
            ("exp", json!(NOW - 59)),
            ("exp", json!(NOW - 100 + 24 * HOUR)),
            ("exp", json!(NOW as f64 + 0.5)),
            ("iat", json!(NOW + 60)),
            ("nbf", json!(NOW + 60)),
        ] {
            assert!(with(name, value.clone()).is_ok(), "{name}: {value}");
        }
    }

    #[test]
    fn wrong_tokens_are_rejected() {
        use TokenRejection::*;
        for (name, value, reason) in [
            ("iss", json!("https://issuer.example/"), Issuer),
            ("iss", json!("https://evil.example"), Issuer),
            ("iss", json!(["https://issuer.example"]), Issuer),
            ("aud", json!("https://greenroom.example/"), Audience),
            ("aud", json!("https://other.example"), Audience),
            ("aud", json!([]), Audience),
            ("aud", json!(["https://greenroom.example", "https://other.example"]), Audience),
            ("aud", json!(["https://greenroom.example", "https://greenroom.example"]), Audience),
            ("aud", json!([["https://greenroom.example"]]), Audience),
            ("aud", json!(null), Audience),
            ("exp", json!(NOW - 60), Expired),
            ("exp", json!(0), Expired),
            ("exp", json!(NOW.to_string()), Time("exp")),
            ("exp", json!(1e300), Time("exp")),
            ("exp", json!(i64::MAX), Time("exp")),
            ("exp", json!(null), Time("exp")),
            ("iat", json!(true), Time("iat")),
            ("nbf", json!("soon"), Time("nbf")),
            ("nbf", json!(null), Time("nbf")),
            ("iat", json!(NOW + 61), NotYetValid("iat")),
            ("nbf", json!(NOW + 61), NotYetValid("nbf")),
            ("exp", json!(NOW - 99 + 24 * HOUR), Lifetime),
            ("exp", json!(253_402_200_000_i64), Lifetime),
            ("exp", json!(253_402_207_200_i64), Time("exp")),
            ("jti", json!(""), Id),
            ("jti", json!(7), Id),
            ("jti", json!(null), Id),
            ("jti", json!("a".repeat(256)), Id),
        ] {
            assert_eq!(with(name, value.clone()), Err(reason), "{name}: {value}");
        }
        let backwards = accept(|claims| {
            claims.insert("iat".to_owned(), json!(NOW + 30));
            claims.insert("exp".to_owned(), json!(NOW + 30));
        });
        assert_eq!(backwards, Err(Lifetime));
        for (name, reason) in [("iss", Issuer), ("aud", Audience), ("exp", Time("exp")), ("iat", Time("iat"))]
        {
            assert_eq!(accept(|claims| drop(claims.remove(name))), Err(reason), "{name}");
        }
    }
}
