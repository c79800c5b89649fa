//! An OpenID provider that sends whatever a test wants.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use greenroom_server::app::sign_in::provider::ProviderSettings;
use openidconnect::core::{
    CoreEdDsaPrivateSigningKey, CoreIdToken, CoreIdTokenClaims, CoreJsonWebKeySet, CoreJwsSigningAlgorithm,
};
use openidconnect::{JsonWebKeyId, PrivateSigningKey};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

pub const CLIENT: &str = "greenroom";

/// The first test key of RFC 8032.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

/// What the next token states.
#[derive(Clone, Debug)]
pub struct Claims {
    pub issuer: String,
    pub audience: String,
    pub subject: String,
    pub email: String,
    pub email_verified: Value,
    pub nonce: String,
    pub lifetime_seconds: i64,
}

pub struct TestProvider {
    pub issuer: String,
    next: Arc<Mutex<Option<Claims>>>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct Shared {
    issuer: String,
    next: Arc<Mutex<Option<Claims>>>,
}

impl TestProvider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let next = Arc::new(Mutex::new(None));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(configuration))
            .route("/keys", get(async || Json(CoreJsonWebKeySet::new(vec![key().as_verification_key()]))))
            .route("/token", post(token))
            .with_state(Shared { issuer: issuer.clone(), next: Arc::clone(&next) });
        let serving = async move {
            axum::serve(listener, router).await.unwrap();
        };
        #[expect(clippy::disallowed_methods, reason = "aborted when the provider is dropped")]
        let task = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { issuer, next, _task: task }
    }

    pub fn settings(&self, id: &str) -> ProviderSettings {
        ProviderSettings {
            id: id.to_owned(),
            name: id.to_owned(),
            issuer: self.issuer.clone(),
            client_id: CLIENT.to_owned(),
            client_secret: Some("secret of the client".to_owned()),
        }
    }

    /// Returns the claims of a correct token.
    pub fn claims(&self, subject: &str, email: &str, nonce: &str) -> Claims {
        Claims {
            issuer: self.issuer.clone(),
            audience: CLIENT.to_owned(),
            subject: subject.to_owned(),
            email: email.to_owned(),
            email_verified: json!(true),
            nonce: nonce.to_owned(),
            lifetime_seconds: 300,
        }
    }

    /// Sets what the next token states.
    pub fn will_state(&self, claims: Claims) {
        *self.next.lock().unwrap() = Some(claims);
    }
}

fn key() -> CoreEdDsaPrivateSigningKey {
    CoreEdDsaPrivateSigningKey::from_ed25519_pem(KEY, Some(JsonWebKeyId::new("k".to_owned()))).unwrap()
}

async fn configuration(State(shared): State<Shared>) -> Json<Value> {
    let issuer = &shared.issuer;
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
    }))
}

async fn token(State(shared): State<Shared>) -> Json<Value> {
    let Some(claims) = shared.next.lock().unwrap().take() else {
        return Json(json!({ "error": "invalid_grant" }));
    };
    #[expect(clippy::disallowed_methods, reason = "a provider has a clock of its own")]
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() as i64;
    let claims: CoreIdTokenClaims = serde_json::from_value(json!({
        "iss": claims.issuer,
        "aud": [claims.audience],
        "sub": claims.subject,
        "exp": now + claims.lifetime_seconds,
        "iat": now,
        "nonce": claims.nonce,
        "email": claims.email,
        "email_verified": claims.email_verified,
    }))
    .unwrap();
    let token = CoreIdToken::new(claims, &key(), CoreJwsSigningAlgorithm::EdDsa, None, None).unwrap();
    Json(json!({ "access_token": "unused", "token_type": "Bearer", "id_token": token }))
}
