//! Id tokens of steps: what they claim, who gets them, and how relying parties verify them. Written from what
//! an attacker tries first: a token after the environment was taken, or before the step has started.

use openidconnect::core::{
    CoreGenderClaim, CoreIdTokenVerifier, CoreJsonWebKeySet, CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
};
use openidconnect::{AdditionalClaims, ClientId, IdToken, IssuerUrl, Nonce};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::fixture::{DeploymentFixture, Job};
use crate::support::Caller;
use crate::support::database::TestDatabase;

const SHOP: &str = r#"
ephemeralEnvironments:
  qa-1: { stages: [deploy] }
  "pr-*": { max: 3, stages: [deploy] }
stages:
  deploy:
    steps:
      - { image: a, run: b, idTokens: { TOKEN_FILE: sts.example, OTHER_FILE: other.example } }
      - { image: a, run: b }
"#;

#[derive(Debug, Serialize, Deserialize)]
struct OwnClaims(BTreeMap<String, Value>);

impl AdditionalClaims for OwnClaims {}

type Token = IdToken<OwnClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm>;

async fn request(fixture: &DeploymentFixture, job: &Job, step: usize, operation: &str) -> (u16, Value) {
    fixture.report(job, &format!("/steps/{}/{operation}", job.steps[step]), json!({})).await
}

/// Reads a document at the server's root.
async fn document(fixture: &DeploymentFixture, path: &str) -> Value {
    let root = fixture.server.base.strip_suffix("/api/v1").unwrap().to_owned();
    let response = fixture.server.client.get(root + path).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200, "{path}");
    response.json().await.unwrap()
}

/// Verifies a token as a relying party does, and returns its claims.
async fn verify(fixture: &DeploymentFixture, token: &Value, audience: &str) -> Result<Value, String> {
    let configuration = document(fixture, "/.well-known/openid-configuration").await;
    let issuer = configuration["issuer"].as_str().unwrap();
    assert_eq!(configuration["jwks_uri"], format!("{issuer}/oidc/jwks.json"));
    let keys: CoreJsonWebKeySet = serde_json::from_value(document(fixture, "/oidc/jwks.json").await).unwrap();
    let issuer = IssuerUrl::new(issuer.to_owned()).unwrap();
    let verifier = CoreIdTokenVerifier::new_public_client(ClientId::new(audience.to_owned()), issuer, keys);
    let token: Token = token.as_str().unwrap().parse().unwrap();
    let claims = token.claims(&verifier, |_: Option<&Nonce>| Ok(()));
    claims.map(|claims| serde_json::to_value(claims).unwrap()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_step_gets_tokens_that_a_relying_party_verifies() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (_, id) = fixture.claim("pr-7", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (status, started) = request(&fixture, &job, 0, "start").await;
    assert_eq!(status, 200, "{started}");
    let tokens = started["data"]["idTokens"].as_array().unwrap();
    let variables: Vec<_> = tokens.iter().map(|token| &token["variable"]).collect();
    assert_eq!(variables, ["OTHER_FILE", "TOKEN_FILE"]);
    let claims = verify(&fixture, &tokens[1]["token"], "sts.example").await.unwrap();
    assert!(claims["sub"].as_str().unwrap().ends_with(":environment:pr-*"), "{claims}");
    assert_eq!((&claims["environment"], &claims["stage"]), (&json!("pr-7"), &json!("deploy")));
    assert_eq!((&claims["deployment_id"], &claims["attempt"]), (&json!(id), &json!(1)));
    assert!(claims.get("branch").is_none(), "no checkout has proven one");
    assert!(verify(&fixture, &tokens[0]["token"], "sts.example").await.is_err(), "another audience");

    let (status, refreshed) = request(&fixture, &job, 0, "id-tokens").await;
    assert_eq!(status, 200, "{refreshed}");
    let refreshed = &refreshed["data"]["idTokens"][1]["token"];
    let new = verify(&fixture, refreshed, "sts.example").await.unwrap();
    assert_eq!(new["sub"], claims["sub"]);
    fixture.end().await;
}

#[tokio::test]
async fn tokens_are_only_for_running_steps_of_the_holder() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (_, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(request(&fixture, &job, 0, "id-tokens").await.0, 410, "it has not started");
    assert_eq!(request(&fixture, &job, 0, "start").await.0, 200);
    let thief: Caller = fixture.server.member(&fixture.owner, "acme", "developer").await;
    fixture.claim("qa-1", &thief, "force-claim").await;
    let (status, refused) = request(&fixture, &job, 0, "id-tokens").await;
    assert!(matches!(status, 409 | 410) && refused.get("data").is_none(), "{refused}");
    let (_, events) = fixture.call(Method::GET, "/events", Value::Null).await;
    assert!(!events.to_string().contains("eyJ"), "a token is in an event");
    fixture.end().await;
}
