//! The fixture of token exchanges: an issuer on this machine, and a service account that trusts it.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use greenroom_app::limits::{LimitSettings, Switch};
use greenroom_app::sign_in::SignInSettings;
use greenroom_domain::id::SigningKeyId;
use greenroom_keys::{KeyRing, SigningKey};
use greenroom_server::http::Limits;
use openidconnect::PrivateSigningKey;
use openidconnect::core::CoreJwsSigningAlgorithm;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::fixture::{DEFINITION, EnvironmentFixture};
use crate::support::{Caller, TestServer, in_hours};

pub const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// An issuer that has published the first of its keys.
pub struct TestIssuer {
    pub address: String,
    pub keys: [SigningKey; 2],
    /// The paths of all requests.
    pub requests: Arc<Mutex<Vec<String>>>,
    _task: AbortOnDropHandle<()>,
}

impl TestIssuer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let ring = KeyRing::parse(&format!("a:{}", STANDARD.encode([1; 32]))).unwrap();
        let keys = [1, 2].map(|number| {
            let sealed = ring.create_signing_key(SigningKeyId::from(Uuid::from_u128(number))).unwrap();
            ring.open_signing_key(&sealed).unwrap()
        });
        let documents = json!({
            "/.well-known/openid-configuration": { "issuer": address, "jwks_uri": format!("{address}/keys") },
            "/keys": { "keys": [keys[0].public().jwk(keys[0].id())] },
        });
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        let serving = async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let path = respond(stream, &documents).await;
                received.lock().unwrap().push(path);
            }
        };
        #[expect(clippy::disallowed_methods, reason = "aborted when the issuer is dropped")]
        let task = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { address, keys, requests, _task: task }
    }

    /// Returns the header of a token that is signed with the published key.
    pub fn header(&self) -> Value {
        json!({ "alg": "RS256", "typ": "JWT", "kid": self.keys[0].id().to_string() })
    }
}

async fn respond(mut stream: TcpStream, documents: &Value) -> String {
    let mut buffer = [0; 2048];
    let count = stream.read(&mut buffer).await.unwrap();
    let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = documents[&path].to_string();
    let length = body.len();
    let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    let _ = stream.write_all(response.as_bytes()).await;
    path
}

pub fn encode(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

/// Signs any header and any claims.
pub fn sign(key: &SigningKey, header: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", encode(header), encode(claims));
    let algorithm = CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256;
    let signature = PrivateSigningKey::sign(key, &algorithm, signed.as_bytes()).unwrap();
    join(&signed, &signature)
}

pub fn join(signed: &str, signature: &[u8]) -> String {
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The response of `/oauth/token`.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchanged {
    pub status: u16,
    pub json: Value,
}

impl Exchanged {
    #[track_caller]
    pub fn token(&self) -> String {
        assert_eq!(self.status, 200, "{}", self.json);
        self.json["access_token"].as_str().unwrap().to_owned()
    }

    pub fn is_refused(&self) -> bool {
        self.status == 400 && self.json["error"] == "invalid_grant"
    }
}

pub struct ExchangeFixture {
    pub fixture: EnvironmentFixture,
    pub issuer: TestIssuer,
    pub account: String,
    pub policy: String,
}

impl ExchangeFixture {
    /// Without limits per address: all requests of the tests come from one.
    pub async fn new(pool: &PgPool) -> Self {
        let settings = LimitSettings { limits: Switch::Off, ..LimitSettings::default() };
        Self::with_limits(pool, settings).await
    }

    pub async fn with_limits(pool: &PgPool, settings: LimitSettings) -> Self {
        let limits = Limits::with(std::time::Duration::from_secs(15), settings);
        let url = pool.connect_options().to_url_lossy();
        let server = TestServer::start_with(url.as_str(), limits, SignInSettings::default()).await;
        let fixture = EnvironmentFixture::on(server, pool, DEFINITION).await;
        let issuer = TestIssuer::start().await;
        let account = fixture.service_account("developer").await;
        let mut made = Self { fixture, issuer, account, policy: String::new() };
        made.policy = made.trust(&made.account, json!({})).await;
        made
    }

    /// Creates a policy for `main` of the repository 74, with changes. Returns its id.
    pub async fn trust(&self, account: &str, changes: Value) -> String {
        let mut body = self.policy(&self.fixture.pipeline);
        for (name, value) in changes.as_object().unwrap() {
            body[name] = value.clone();
        }
        let path = format!("/service-accounts/{account}/trust-policies");
        let made = self.fixture.of_organization(&self.fixture.owner, Method::POST, &path, body).await;
        made["data"]["id"].as_str().unwrap().to_owned()
    }

    /// Returns the request of a policy for `main` of the repository 74.
    pub fn policy(&self, pipeline: &str) -> Value {
        json!({
            "name": "shop, main",
            "issuer": self.issuer.address,
            "claims": { "repository_id": "74", "ref": "refs/heads/main" },
            "pipelines": [pipeline],
        })
    }

    pub fn origin(&self) -> &str {
        &self.fixture.server.origin
    }

    pub fn address_of(&self, account: &str) -> String {
        format!("{}/api/v1/organizations/acme/service-accounts/{account}", self.origin())
    }

    /// Returns the claims of a token that is right, with changes. A change to null removes a claim.
    pub fn claims(&self, changes: &Value) -> Value {
        let now = in_hours(0).as_second();
        let mut claims = json!({
            "iss": self.issuer.address, "aud": self.origin(), "sub": "repo:acme/shop:ref:refs/heads/main",
            "iat": now, "nbf": now, "exp": now + 300, "jti": Uuid::now_v7().to_string(),
            "repository": "acme/shop", "repository_id": "74", "ref": "refs/heads/main",
        });
        for (name, value) in changes.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            } else {
                claims[name] = value.clone();
            }
        }
        claims
    }

    /// Returns a signed token.
    pub fn subject(&self, changes: &Value) -> String {
        sign(&self.issuer.keys[0], &self.issuer.header(), &self.claims(changes))
    }

    /// Exchanges a token for one of the account.
    pub async fn exchange(&self, subject: &str) -> Exchanged {
        self.exchange_for(&self.account, subject, None).await
    }

    pub async fn exchange_for(&self, account: &str, subject: &str, actor: Option<&str>) -> Exchanged {
        self.exchange_at(&self.address_of(account), subject, actor).await
    }

    /// Exchanges a token for one of the account at this address.
    pub async fn exchange_at(&self, address: &str, subject: &str, actor: Option<&str>) -> Exchanged {
        let mut form = vec![
            ("grant_type", EXCHANGE),
            ("subject_token", subject),
            ("subject_token_type", JWT),
            ("resource", address),
        ];
        if let Some(actor) = actor {
            form.extend([("actor_token", actor), ("actor_token_type", ACCESS_TOKEN)]);
        }
        self.send(&form).await
    }

    /// Sends a form.
    pub async fn send(&self, form: &[(&str, &str)]) -> Exchanged {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form);
        let request = self.fixture.server.client.post(format!("{}/oauth/token", self.origin()));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let response = request.body(body.finish()).send().await.unwrap();
        assert_eq!(response.headers()["cache-control"], "no-store");
        let status = response.status().as_u16();
        Exchanged { status, json: response.json().await.unwrap() }
    }

    /// Returns a caller with a token.
    pub fn caller(&self, token: &str) -> Caller {
        Caller {
            organization: self.fixture.owner.organization.clone(),
            user: self.account.clone(),
            token: token.to_owned(),
            token_id: String::new(),
        }
    }

    /// Returns the reasons of all events of a type, the newest last.
    pub async fn reasons(&self, event_type: &str) -> Vec<String> {
        let sql = "select coalesce(data->>'reason', '') from (
                 select type, data, time from event_intake union all select type, data, time from events) e
             where type = $1 order by time";
        sqlx::query_scalar(sql).bind(event_type).fetch_all(&self.fixture.pool).await.unwrap()
    }
}
