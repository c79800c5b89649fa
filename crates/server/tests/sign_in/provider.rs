//! An OpenID provider that sends whatever a test wants.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use greenroom_app::sign_in::provider::ProviderSettings;
use openidconnect::core::{
    CoreEdDsaPrivateSigningKey, CoreIdToken, CoreIdTokenClaims, CoreJsonWebKeySet, CoreJwsSigningAlgorithm,
};
use openidconnect::{JsonWebKeyId, PrivateSigningKey};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

pub const CLIENT: &str = "greenroom";

/// The first test key of RFC 8032.
const FIRST_KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

/// The second test key of RFC 8032.
const SECOND_KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n-----END PRIVATE KEY-----\n";

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
    /// What is stated on request. The token then contains no address.
    pub on_request: Option<Value>,
}

pub struct TestProvider {
    pub issuer: String,
    next: Arc<Mutex<Option<Claims>>>,
    has_second_key: Arc<AtomicBool>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct Shared {
    issuer: String,
    next: Arc<Mutex<Option<Claims>>>,
    on_request: Arc<Mutex<Option<Value>>>,
    has_second_key: Arc<AtomicBool>,
}

impl TestProvider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let next = Arc::new(Mutex::new(None));
        let has_second_key = Arc::new(AtomicBool::new(false));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(configuration))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(Shared {
                issuer: issuer.clone(),
                next: Arc::clone(&next),
                on_request: Arc::default(),
                has_second_key: Arc::clone(&has_second_key),
            });
        let serving = async move {
            axum::serve(listener, router).await.unwrap();
        };
        #[expect(clippy::disallowed_methods, reason = "aborted when the provider is dropped")]
        let task = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { issuer, next, has_second_key, _task: task }
    }

    pub fn settings(&self, id: &str) -> ProviderSettings {
        ProviderSettings {
            id: id.to_owned(),
            name: id.to_owned(),
            issuer: self.issuer.clone(),
            client_id: CLIENT.to_owned(),
            client_secret: Some("secret of the client".to_owned()),
            domains: Vec::new(),
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
            on_request: None,
        }
    }

    /// Sets what the next token states.
    pub fn will_state(&self, claims: Claims) {
        *self.next.lock().unwrap() = Some(claims);
    }

    /// Replaces the key that tokens are signed with.
    pub fn replace_key(&self) {
        self.has_second_key.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn key(&self) -> CoreEdDsaPrivateSigningKey {
        let has_second_key = self.has_second_key.load(Ordering::Relaxed);
        let (pem, id) = if has_second_key { (SECOND_KEY, "second") } else { (FIRST_KEY, "first") };
        CoreEdDsaPrivateSigningKey::from_ed25519_pem(pem, Some(JsonWebKeyId::new(id.to_owned()))).unwrap()
    }
}

async fn keys(State(shared): State<Shared>) -> Json<CoreJsonWebKeySet> {
    Json(CoreJsonWebKeySet::new(vec![shared.key().as_verification_key()]))
}

async fn userinfo(State(shared): State<Shared>) -> Json<Value> {
    Json(shared.on_request.lock().unwrap().take().unwrap_or_default())
}

async fn configuration(State(shared): State<Shared>) -> Json<Value> {
    let issuer = &shared.issuer;
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
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
    let is_in_token = claims.on_request.is_none();
    *shared.on_request.lock().unwrap() = claims.on_request;
    let claims: CoreIdTokenClaims = serde_json::from_value(json!({
        "iss": claims.issuer,
        "aud": [claims.audience],
        "sub": claims.subject,
        "exp": now + claims.lifetime_seconds,
        "iat": now,
        "nonce": claims.nonce,
        "email": is_in_token.then_some(claims.email),
        "email_verified": claims.email_verified,
    }))
    .unwrap();
    let token = CoreIdToken::new(claims, &shared.key(), CoreJwsSigningAlgorithm::EdDsa, None, None).unwrap();
    Json(json!({ "access_token": "unused", "token_type": "Bearer", "id_token": token }))
}
