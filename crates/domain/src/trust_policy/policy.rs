//! A trust policy of a service account, and which of its policies accepts a token.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::claims::ExpectedClaims;
use super::issuer::Issuer;
use super::lifetime::ExchangedLifetime;
use super::token::{AcceptedToken, TokenRejection, accept_token};
use crate::id::{PipelineId, TrustPolicyId, UserId};
use crate::pipeline_limit::PipelineLimit;
use crate::service_account;
use crate::token::TokenKind;
use crate::token_grant::TokenGrant;

/// How many policies a service account can have.
pub const MAX_POLICIES: i64 = 50;
const MAX_AUDIENCE_BYTES: usize = 255;

/// The `aud` that tokens must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audience(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {MAX_AUDIENCE_BYTES} printable ASCII characters")]
pub struct InvalidAudience;

impl Audience {
    pub fn new(text: &str) -> Result<Self, InvalidAudience> {
        let is_valid = !text.is_empty()
            && text.len() <= MAX_AUDIENCE_BYTES
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidAudience) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustPolicy {
    pub id: TrustPolicyId,
    pub service_account: UserId,
    pub name: String,
    pub issuer: Issuer,
    /// `None`: the public address of the server.
    pub audience: Option<Audience>,
    pub claims: ExpectedClaims,
    /// The pipelines that the tokens reach. At least one.
    pub pipelines: Vec<PipelineId>,
    pub lifetime: ExchangedLifetime,
    pub created_at: Timestamp,
    pub created_by: UserId,
}

/// Why a policy does not accept a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyRejection {
    #[error(transparent)]
    Token(#[from] TokenRejection),
    #[error("`{0}` is missing, or has another value than the policy expects")]
    Claim(String),
    #[error("the policy has no pipelines")]
    NoPipelines,
}

/// Returns the subject of a policy's events: its path below the organization.
pub fn subject(account: UserId, id: TrustPolicyId) -> String {
    format!("{}/trust-policies/{id}", service_account::subject(account))
}

impl TrustPolicy {
    /// Decides about the claims of a token whose signature is valid. `address` is the public address of the server.
    pub fn accept(
        &self,
        claims: &Map<String, Value>,
        address: &str,
        now: Timestamp,
    ) -> Result<AcceptedToken, PolicyRejection> {
        let audience = self.audience.as_ref().map_or(address, Audience::as_str);
        let accepted = accept_token(claims, &self.issuer, audience, now)?;
        if let Some(name) = self.claims.find_mismatch(claims) {
            return Err(PolicyRejection::Claim(name.to_owned()));
        }
        if self.pipelines.is_empty() {
            return Err(PolicyRejection::NoPipelines);
        }
        Ok(accepted)
    }

    /// Returns what a token that is made now may do. It never permits force.
    pub fn grant(&self, now: Timestamp) -> TokenGrant {
        TokenGrant {
            kind: TokenKind::Ci,
            allow_force: false,
            expires_at: Some(self.lifetime.expiry(now)),
            scopes: TokenKind::Ci.default_scopes(),
            pipelines: PipelineLimit::new(Some(self.pipelines.clone())),
            max_sessions: None,
        }
    }
}

/// Returns the first policy that accepts a token, or why each of them does not.
pub fn choose_policy<'a>(
    policies: &'a [TrustPolicy],
    claims: &Map<String, Value>,
    address: &str,
    now: Timestamp,
) -> Result<(&'a TrustPolicy, AcceptedToken), Vec<(&'a TrustPolicy, PolicyRejection)>> {
    let mut rejections = Vec::new();
    for policy in policies {
        match policy.accept(claims, address, now) {
            Ok(accepted) => return Ok((policy, accepted)),
            Err(rejection) => rejections.push((policy, rejection)),
        }
    }
    Err(rejections)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::scope::{Scope, Scopes};

    const NOW: i64 = 1_800_000_000;
    const ADDRESS: &str = "https://greenroom.example";

    fn policy(audience: Option<&str>, claims: &Value) -> TrustPolicy {
        let issuer = Issuer::new("https://issuer.example").unwrap();
        TrustPolicy {
            id: Uuid::from_u128(1).into(),
            service_account: Uuid::from_u128(2).into(),
            name: "main".to_owned(),
            audience: audience.map(|text| Audience::new(text).unwrap()),
            claims: ExpectedClaims::new(claims.as_object().unwrap().clone(), &issuer).unwrap(),
            issuer,
            pipelines: vec![Uuid::from_u128(3).into()],
            lifetime: ExchangedLifetime::from_seconds(600).unwrap(),
            created_at: Timestamp::from_second(NOW - 9).unwrap(),
            created_by: Uuid::from_u128(4).into(),
        }
    }

    fn now() -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    #[test]
    fn the_first_policy_that_fits_is_chosen() {
        let claims = json!({ "iss": "https://issuer.example", "aud": ADDRESS, "iat": NOW, "exp": NOW + 60, "ref": "b" });
        let claims = claims.as_object().unwrap();
        let [first, second, third] = [
            policy(None, &json!({ "ref": "a" })),
            policy(Some("https://other.example"), &json!({ "ref": "b" })),
            policy(None, &json!({ "ref": "b" })),
        ];
        let all = [first.clone(), second.clone(), third.clone()];
        assert_eq!(choose_policy(&all, claims, ADDRESS, now()).unwrap().0, &third);
        let wrong = [first, second];
        let rejections = choose_policy(&wrong, claims, ADDRESS, now()).unwrap_err();
        let rejections: Vec<_> = rejections.into_iter().map(|(_, rejection)| rejection).collect();
        assert_eq!(rejections, [PolicyRejection::Claim("ref".to_owned()), TokenRejection::Audience.into()]);
        assert_eq!(choose_policy(&[], claims, ADDRESS, now()), Err(Vec::new()));
        let emptied = [TrustPolicy { pipelines: Vec::new(), ..third }];
        let rejections = choose_policy(&emptied, claims, ADDRESS, now()).unwrap_err();
        assert_eq!(rejections[0].1, PolicyRejection::NoPipelines);
    }

    #[test]
    fn a_token_is_limited() {
        let grant = policy(None, &json!({ "ref": "a" })).grant(now());
        assert!(!grant.allow_force);
        assert_eq!(grant.kind, TokenKind::Ci);
        assert_eq!(grant.scopes, Scopes::of(&[Scope::Read, Scope::Hold, Scope::Deploy, Scope::Start]));
        assert_eq!(grant.expires_at, Some(Timestamp::from_second(NOW + 600).unwrap()));
        assert_eq!(grant.pipelines.ids().map(<[_]>::len), Some(1));
    }

    #[test]
    fn an_audience_is_a_short_text() {
        for text in ["a", "https://greenroom.example", "sts.example"] {
            assert!(Audience::new(text).is_ok(), "{text}");
        }
        for text in ["", " ", "a b", "ä", "a\n", &"a".repeat(256)] {
            assert!(Audience::new(text).is_err(), "{text}");
        }
    }
}
