//! A test server that listens on a local port and has its own database.
#![expect(dead_code, reason = "each test binary uses a part of it")]

pub mod database;
pub mod steps;

use std::time::Duration;

use greenroom_app::Backends;
use greenroom_app::browser_session::new_secret as new_cookie;
use greenroom_app::id_token::IdTokenSettings;
use greenroom_app::job::timing::JobTiming;
use greenroom_app::sign_in::{SignIn, SignInSettings};
use greenroom_app::token::new_secret;
use greenroom_domain::browser_session::SignInMethod;
use greenroom_domain::id::{BrowserSessionId, OrganizationId, TokenId, UserId};
use greenroom_domain::text::{Email, Name};
use greenroom_domain::token_grant::TokenGrant;
use greenroom_engine::{Engine, EngineConfig};
use greenroom_keys::{KeySource, Keys};
use greenroom_outbound::OutboundClient;
use greenroom_server::config::{DatabaseConfig, OutboundConfig};
use greenroom_server::daemon::{Databases, Server};
use greenroom_server::http::Limits;
use greenroom_store::system::bootstrap::{NewOrganization, NewToken};
use greenroom_store::system::sign_in::NewBrowserSession;
use greenroom_worker::objects::Objects;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};
use tokio::net::TcpListener;
use uuid::Uuid;

/// Never used, so that the expectation above also holds in a binary that uses everything else.
const UNUSED: () = ();

/// The prefix of a browser's cookie in the place of a token.
pub const COOKIE: &str = "cookie:";

/// A small definition that is valid.
pub const DEFINITION: &str = "stages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n";

/// A list with one master key of secrets.
pub const MASTER_KEY: &str = "test:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

/// The size of the pool for requests.
const CONNECTIONS: u32 = 8;
/// Most tests send one request at a time, and each connection costs PostgreSQL as much as some requests do.
const MIN_CONNECTIONS: u32 = 1;

pub struct TestServer {
    pub server: Server,
    /// Ends in `/api/v1`.
    pub base: String,
    pub origin: String,
    pub client: Client,
}

/// A user of one organization, with a token.
#[derive(Clone, Debug)]
pub struct Caller {
    pub organization: String,
    pub user: String,
    pub token: String,
    pub token_id: String,
}

/// Returns the time in that many hours, by the clock of a client.
#[expect(clippy::disallowed_methods, reason = "the database runs on this machine, by this very clock")]
pub fn in_hours(hours: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(hours)
}

/// Returns an engine that cannot be reached: no API call may depend on the engine.
fn unreachable_engine() -> Engine {
    Engine::new(EngineConfig { address: "127.0.0.1:1".to_owned(), ..EngineConfig::default() })
}

async fn test_keys() -> Keys {
    let command = format!("printf %s '{MASTER_KEY}'");
    Keys::load(Some(KeySource::Command(command))).await.unwrap()
}

/// Returns a client that reaches the test's own servers, such as its OpenID providers.
fn loopback_client() -> OutboundClient {
    let config = OutboundConfig { outbound_allow: vec!["127.0.0.0/8".parse().unwrap()] };
    config.client()
}

impl TestServer {
    pub async fn start(pool: &PgPool) -> Self {
        Self::start_on(
            pool.connect_options().to_url_lossy().as_str(),
            Limits::new(Duration::from_secs(15), 512),
        )
        .await
    }

    /// Starts a server that browsers reach at a public URL.
    pub async fn start_at(pool: &PgPool, public_url: &str) -> Self {
        let database_url = pool.connect_options().to_url_lossy();
        let limits = Limits::new(Duration::from_secs(15), 512);
        let settings =
            SignInSettings { public_url: Some(public_url.parse().unwrap()), ..SignInSettings::default() };
        Self::start_with(database_url.as_str(), limits, settings).await
    }

    /// Starts a server on any database address, for example that of a proxy.
    pub async fn start_on(database_url: &str, limits: Limits) -> Self {
        Self::start_with(database_url, limits, SignInSettings::default()).await
    }

    pub async fn start_with(database_url: &str, limits: Limits, sign_in: SignInSettings) -> Self {
        Self::start_with_keys(database_url, limits, sign_in, test_keys().await).await
    }

    /// Starts a server that opens all connections of its pools before they are needed, as in production. For
    /// tests of the pools.
    pub async fn start_with_full_pools(database_url: &str, limits: Limits) -> Self {
        let config = DatabaseConfig { database_url: database_url.to_owned() };
        let databases = Databases::open(&config, CONNECTIONS, limits.settings.reserved_connections).unwrap();
        Self::start_with_databases(databases, limits, SignInSettings::default(), test_keys().await).await
    }

    pub async fn start_with_keys(
        database_url: &str,
        limits: Limits,
        sign_in: SignInSettings,
        keys: Keys,
    ) -> Self {
        let config = DatabaseConfig { database_url: database_url.to_owned() };
        let reserved = limits.settings.reserved_connections;
        let databases = Databases::open_with(&config, CONNECTIONS, reserved, MIN_CONNECTIONS).unwrap();
        Self::start_with_databases(databases, limits, sign_in, keys).await
    }

    async fn start_with_databases(
        databases: Databases,
        limits: Limits,
        sign_in: SignInSettings,
        keys: Keys,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::start(
            databases,
            Backends {
                engine: unreachable_engine(),
                objects: Objects::in_memory(),
                keys,
                id_tokens: IdTokenSettings::default(),
                outbound: loopback_client(),
            },
            JobTiming::default(),
            listener,
            limits,
            SignIn::new(sign_in, &origin.parse().unwrap(), &loopback_client()).unwrap(),
        );
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        Self { server, base: format!("{origin}/api/v1"), origin, client }
    }

    /// Creates an organization and returns its owner.
    pub async fn organization(&self, slug: &str) -> Caller {
        let (id, secret, token_id) =
            (OrganizationId::from(Uuid::now_v7()), new_secret(), TokenId::from(Uuid::now_v7()));
        let organization = NewOrganization {
            id,
            slug: &slug.parse().unwrap(),
            name: &Name::new(slug).unwrap(),
            owner_id: UserId::from(Uuid::now_v7()),
            owner_email: &Email::new(&format!("owner@{slug}.test")).unwrap(),
            owner_name: &Name::new("Owner").unwrap(),
        };
        let token = NewToken {
            id: token_id,
            secret: &secret,
            name: &Name::new("test").unwrap(),
            grant: &TokenGrant::of_user(),
        };
        let user = self.server.app.store.bootstrap(&organization, &token).await.unwrap();
        Caller {
            organization: id.to_string(),
            user: user.to_string(),
            token: secret.reveal().to_owned(),
            token_id: token_id.to_string(),
        }
    }

    /// A new member of the owner's organization, with a token of kind `user`.
    pub async fn member(&self, owner: &Caller, slug: &str, role: &str) -> Caller {
        let email = format!("{}@{slug}.test", Uuid::now_v7().as_simple());
        let path = format!("/organizations/{}/members", owner.organization);
        let body = json!({ "email": email, "name": format!("A {role}"), "role": role });
        let added = self.send(Method::POST, &path, Some(&owner.token), Some(body)).await;
        assert_eq!(added.status(), StatusCode::CREATED);
        let added: Value = added.json().await.unwrap();
        let (secret, token_id) = (new_secret(), TokenId::from(Uuid::now_v7()));
        let token = NewToken {
            id: token_id,
            secret: &secret,
            name: &Name::new("test").unwrap(),
            grant: &TokenGrant::of_user(),
        };
        let email = Email::new(&email).unwrap();
        self.server
            .app
            .store
            .create_token_for(&slug.parse().unwrap(), &email, &token)
            .await
            .unwrap()
            .unwrap();
        Caller {
            organization: owner.organization.clone(),
            user: added["data"]["userId"].as_str().unwrap().to_owned(),
            token: secret.reveal().to_owned(),
            token_id: token_id.to_string(),
        }
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> Response {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        match token.map(|token| (token, token.strip_prefix(COOKIE))) {
            None => {}
            Some((token, None)) => request = request.bearer_auth(token),
            Some((_, Some(secret))) => {
                let cookie = format!("__Host-greenroom={secret}");
                request = request.header("cookie", cookie).header("origin", &self.origin);
            }
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    /// Signs a user in with a browser. Returns the cookie in the form in which it can be used as a token here.
    pub async fn browser(&self, user: &str) -> String {
        let (secret, id) = (new_cookie(), BrowserSessionId::from(Uuid::now_v7()));
        let store = &self.server.app.store;
        let transaction = store.sign_in_transaction(user.parse().unwrap(), "req_test").await.unwrap();
        let mut transaction = transaction.unwrap();
        let new = NewBrowserSession {
            id,
            secret_hash: secret.hash(),
            method: SignInMethod::Link,
            user_agent: "test",
        };
        transaction.create_session(&new).await.unwrap();
        transaction.commit().await.unwrap();
        format!("{COOKIE}{}", secret.reveal())
    }

    /// Sends a request and reads the response as JSON.
    pub async fn json(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let response = self.send(method, path, Some(token), body).await;
        (response.status(), response.json().await.unwrap())
    }

    /// Creates a pipeline and returns its id.
    pub async fn pipeline(&self, caller: &Caller, name: &str) -> String {
        let path = format!("/organizations/{}/pipelines", caller.organization);
        let body = json!({ "name": name, "definition": DEFINITION });
        let (status, made) = self.json(Method::POST, &path, &caller.token, Some(body)).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        made["data"]["id"].as_str().unwrap().to_owned()
    }
}

/// Records large events in an organization, to fill the buffers between the server and a reader of its stream.
pub async fn record_large_events(pool: &PgPool, slug: &str, count: i64, bytes: i32) {
    sqlx::query(
        "insert into event_intake (organization_id, type, category, subject, data)
         select id, 'pipeline.updated', 'deployment', 'pipelines/x', jsonb_build_object('reason', repeat('x', $3))
         from organizations, generate_series(1, $2) where slug = $1",
    )
    .bind(slug)
    .bind(count)
    .bind(bytes)
    .execute(pool)
    .await
    .unwrap();
}

/// Polls a condition until it holds. Returns `false` after the timeout.
pub async fn eventually<F: Future<Output = bool>>(within: Duration, mut holds: impl FnMut() -> F) -> bool {
    let started = std::time::Instant::now();
    loop {
        if holds().await {
            return true;
        }
        if started.elapsed() > within {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
