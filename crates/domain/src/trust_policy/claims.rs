//! The claims that a policy expects. They are compared exactly: there are no patterns.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ci_system::{self, CiSystem};
use super::issuer::Issuer;

pub const MAX_CLAIMS: usize = 16;
const MAX_NAME_BYTES: usize = 64;
const MAX_VALUE_BYTES: usize = 512;
/// Every token is checked for these, or they differ from token to token.
const RESERVED: [&str; 6] = ["iss", "aud", "exp", "nbf", "iat", "jti"];

/// Checked claims with the value that each must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedClaims(BTreeMap<String, Value>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClaims {
    #[error("must have 1 to {MAX_CLAIMS} claims")]
    Count,
    #[error("`{0}` is not the name of a claim")]
    Name(String),
    #[error("`{0}` is checked for every token: leave it out")]
    Reserved(String),
    #[error(
        "the value of `{0}` must be a text of 1 to {MAX_VALUE_BYTES} bytes, a whole number, or true or false"
    )]
    Value(String),
    #[error("the value of `{0}` contains `*`, but claims are compared exactly")]
    Pattern(String),
    #[error(
        "names can be registered again by another person: {} needs a claim with an id that never changes: {}",
        .0.name(), ci_system::list(.0.identities())
    )]
    IdentityMissing(CiSystem),
    #[error(
        "every branch and every pull request would be trusted: {} needs a claim with the ref, the environment or the \
         workflow: {}",
        .0.name(), ci_system::list(.0.contexts())
    )]
    ContextMissing(CiSystem),
}

impl InvalidClaims {
    /// Returns the place of the mistake in a request.
    pub const fn pointer(&self) -> &'static str {
        "/claims"
    }
}

impl ExpectedClaims {
    pub fn new(claims: Map<String, Value>, issuer: &Issuer) -> Result<Self, InvalidClaims> {
        if claims.is_empty() || claims.len() > MAX_CLAIMS {
            return Err(InvalidClaims::Count);
        }
        for (name, value) in &claims {
            let is_name = !name.is_empty()
                && name.len() <= MAX_NAME_BYTES
                && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
            if !is_name {
                return Err(InvalidClaims::Name(name.chars().take(MAX_NAME_BYTES).collect()));
            }
            if RESERVED.contains(&name.as_str()) {
                return Err(InvalidClaims::Reserved(name.clone()));
            }
            let is_value = match value {
                Value::Bool(_) => true,
                Value::Number(number) => number.is_i64() || number.is_u64(),
                Value::String(text) if text.contains('*') => {
                    return Err(InvalidClaims::Pattern(name.clone()));
                }
                Value::String(text) => {
                    !text.trim().is_empty()
                        && text.len() <= MAX_VALUE_BYTES
                        && !text.chars().any(char::is_control)
                }
                _ => false,
            };
            if !is_value {
                return Err(InvalidClaims::Value(name.clone()));
            }
        }
        let claims = claims.into_iter().collect();
        match CiSystem::recognize(issuer, &claims) {
            Some(system) if !ci_system::is_satisfied(system.identities(), &claims) => {
                Err(InvalidClaims::IdentityMissing(system))
            }
            Some(system) if !ci_system::is_satisfied(system.contexts(), &claims) => {
                Err(InvalidClaims::ContextMissing(system))
            }
            _ => Ok(Self(claims)),
        }
    }

    /// Takes claims that were checked when they were stored.
    pub fn from_stored(claims: Map<String, Value>) -> Self {
        Self(claims.into_iter().collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the first claim that the token does not have, or has with another value or of another type.
    pub fn find_mismatch(&self, token: &Map<String, Value>) -> Option<&str> {
        self.iter().find(|(name, value)| token.get(*name) != Some(value)).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::InvalidClaims::{ContextMissing, Count, IdentityMissing, Name, Pattern, Reserved};
    use super::*;

    const GITHUB: &str = "https://token.actions.githubusercontent.com";
    const GITLAB: &str = "https://gitlab.com";
    const BUILDKITE: &str = "https://agent.buildkite.com";
    const FORGEJO: &str = "https://codeberg.org/api/actions";
    const OTHER: &str = "https://issuer.example";

    fn check(issuer: &str, claims: Value) -> Result<ExpectedClaims, InvalidClaims> {
        ExpectedClaims::new(claims.as_object().unwrap().clone(), &Issuer::new(issuer).unwrap())
    }

    #[test]
    fn known_systems_need_an_id_and_a_context() {
        for (issuer, claims) in [
            (GITHUB, json!({ "repository_id": "74", "ref": "refs/heads/main" })),
            (GITHUB, json!({ "repository_id": "74", "environment": "production" })),
            (
                GITHUB,
                json!({ "repository_owner_id": "9", "job_workflow_ref": "acme/ci/.github/workflows/a.yml@refs/heads/main" }),
            ),
            ("https://github.example/_services/token", json!({ "repository_id": "74", "workflow_ref": "a" })),
            (GITLAB, json!({ "project_id": "22", "ref_path": "refs/heads/main" })),
            (GITLAB, json!({ "project_id": "22", "ref": "main", "ref_type": "branch" })),
            ("https://git.example", json!({ "project_id": "22", "environment": "production" })),
            (BUILDKITE, json!({ "pipeline_id": "0184990a", "build_branch": "main" })),
            (FORGEJO, json!({ "repository_id": "74", "ref": "refs/heads/main" })),
            (OTHER, json!({ "sub": "build-7" })),
            (OTHER, json!({ "team": "shop", "is_protected": true, "level": 3 })),
        ] {
            assert!(check(issuer, claims.clone()).is_ok(), "{issuer} {claims}");
        }
    }

    #[test]
    fn names_that_can_be_registered_again_are_not_enough() {
        use CiSystem::*;
        for (issuer, claims, system) in [
            (GITHUB, json!({ "repository": "acme/shop", "ref": "refs/heads/main" }), GitHub),
            (GITHUB, json!({ "sub": "repo:acme/shop:ref:refs/heads/main" }), GitHub),
            (GITHUB, json!({ "repository_owner": "acme", "environment": "production" }), GitHub),
            (GITHUB, json!({ "actor_id": "7", "ref": "refs/heads/main" }), GitHub),
            ("https://github.example/_services/token", json!({ "repository": "a/b", "ref": "c" }), GitHub),
            (OTHER, json!({ "repository": "acme/shop", "ref": "refs/heads/main" }), GitHub),
            (OTHER, json!({ "sub": "repo:acme/shop:ref:refs/heads/main" }), GitHub),
            (GITLAB, json!({ "project_path": "acme/shop", "ref_path": "refs/heads/main" }), GitLab),
            (GITLAB, json!({ "sub": "project_path:acme/shop:ref_type:branch:ref:main" }), GitLab),
            ("https://git.example", json!({ "project_path": "acme/shop", "ref_path": "a" }), GitLab),
            (
                "https://git.example",
                json!({ "sub": "project_path:acme/shop:ref_type:branch:ref:main" }),
                GitLab,
            ),
            (
                BUILDKITE,
                json!({ "organization_slug": "acme", "pipeline_slug": "shop", "build_branch": "main" }),
                Buildkite,
            ),
            (FORGEJO, json!({ "repository": "acme/shop", "ref": "refs/heads/main" }), Forgejo),
        ] {
            assert_eq!(check(issuer, claims.clone()), Err(IdentityMissing(system)), "{issuer} {claims}");
        }
        for (issuer, claims, system) in [
            (GITHUB, json!({ "repository_id": "74" }), GitHub),
            (GITHUB, json!({ "repository_id": "74", "workflow": "release" }), GitHub),
            (GITHUB, json!({ "repository_id": "74", "event_name": "push" }), GitHub),
            (GITLAB, json!({ "project_id": "22" }), GitLab),
            (GITLAB, json!({ "project_id": "22", "ref": "main" }), GitLab),
            (GITLAB, json!({ "project_id": "22", "ref_type": "branch" }), GitLab),
            (BUILDKITE, json!({ "pipeline_id": "0184990a", "step_key": "ship" }), Buildkite),
            (FORGEJO, json!({ "repository_id": "74", "environment": "production" }), Forgejo),
        ] {
            assert_eq!(check(issuer, claims.clone()), Err(ContextMissing(system)), "{issuer} {claims}");
        }
        let text = check(GITLAB, json!({ "project_id": "22" })).unwrap_err().to_string();
        assert!(
            text.ends_with("`ref_path`, or `ref` and `ref_type`, or `environment`, or `ci_config_ref_uri`"),
            "{text}"
        );
    }

    #[test]
    fn claims_are_single_values() {
        let name = |name: &str| name.to_owned();
        for (claims, reason) in [
            (json!({}), Count),
            ((0..17).map(|number| (number.to_string(), json!(1))).collect::<Map<_, _>>().into(), Count),
            (json!({ "": "a" }), Name(name(""))),
            (json!({ "a b": "a" }), Name(name("a b"))),
            (json!({ "iss": "a" }), Reserved(name("iss"))),
            (json!({ "aud": "a" }), Reserved(name("aud"))),
            (json!({ "exp": 1 }), Reserved(name("exp"))),
            (json!({ "jti": "a" }), Reserved(name("jti"))),
            (json!({ "a": null }), InvalidClaims::Value(name("a"))),
            (json!({ "a": ["b"] }), InvalidClaims::Value(name("a"))),
            (json!({ "a": { "b": 1 } }), InvalidClaims::Value(name("a"))),
            (json!({ "a": 1.5 }), InvalidClaims::Value(name("a"))),
            (json!({ "a": "" }), InvalidClaims::Value(name("a"))),
            (json!({ "a": " " }), InvalidClaims::Value(name("a"))),
            (json!({ "a": "b\n" }), InvalidClaims::Value(name("a"))),
            (json!({ "a": "b".repeat(513) }), InvalidClaims::Value(name("a"))),
            (json!({ "sub": "build-*" }), Pattern(name("sub"))),
        ] {
            assert_eq!(check(OTHER, claims.clone()), Err(reason), "{claims}");
        }
    }

    #[test]
    fn claims_are_compared_exactly() {
        let expected =
            check(OTHER, json!({ "ref": "refs/heads/main", "id": "7", "level": 3, "is_protected": true }))
                .unwrap();
        let token =
            json!({ "ref": "refs/heads/main", "id": "7", "level": 3, "is_protected": true, "more": 1 });
        assert_eq!(expected.find_mismatch(token.as_object().unwrap()), None);
        for (name, value) in [
            ("ref", json!("refs/heads/main2")),
            ("ref", json!("refs/heads/Main")),
            ("ref", json!("refs/heads/main ")),
            ("ref", json!("refs/pull/7/merge")),
            ("ref", json!(["refs/heads/main"])),
            ("id", json!(7)),
            ("id", json!("07")),
            ("level", json!("3")),
            ("level", json!(3.0)),
            ("is_protected", json!("true")),
            ("is_protected", json!(null)),
        ] {
            let mut token = token.as_object().unwrap().clone();
            token.insert(name.to_owned(), value.clone());
            assert_eq!(expected.find_mismatch(&token), Some(name), "{value}");
            token.remove(name);
            assert_eq!(expected.find_mismatch(&token), Some(name), "absent");
        }
    }
}
