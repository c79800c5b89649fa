//! The cache of keys, with an issuer on this machine.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use greenroom_app::token_exchange::issuer_keys::{IssuerKeyCache, VerificationError};
use greenroom_domain::id::SigningKeyId;
use greenroom_domain::trust_policy::Issuer;
use greenroom_keys::{KeyRing, SigningKey, SubjectToken, UnverifiedToken, VerifiedToken};
use greenroom_outbound::{AllowList, OrganizationNames, OutboundClient};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

struct TestIssuer {
    address: String,
    /// The documents by their paths.
    documents: Arc<Mutex<Value>>,
    requests: Arc<AtomicUsize>,
    keys: [SigningKey; 2],
    _task: AbortOnDropHandle<()>,
}

impl TestIssuer {
    /// Starts an issuer that has published the first of its keys.
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let ring = KeyRing::parse(&format!("a:{}", STANDARD.encode([1; 32]))).unwrap();
        let keys = [1, 2].map(|number| {
            let sealed = ring.create_signing_key(SigningKeyId::from(Uuid::from_u128(number))).unwrap();
            ring.open_signing_key(&sealed).unwrap()
        });
        let documents = Arc::new(Mutex::new(json!({
            "/.well-known/openid-configuration": { "issuer": address, "jwks_uri": format!("{address}/keys") },
            "/keys": { "keys": [keys[0].public().jwk(keys[0].id())] },
        })));
        let requests = Arc::new(AtomicUsize::new(0));
        let (published, count) = (Arc::clone(&documents), Arc::clone(&requests));
        let serving = async move {
            let mut responses = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                responses.spawn(respond(stream, Arc::clone(&published)));
            }
        };
        #[expect(clippy::disallowed_methods, reason = "aborted when the issuer is dropped")]
        let task = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { address, documents, requests, keys, _task: task }
    }

    fn publish(&self, path: &str, document: Value) {
        self.documents.lock().unwrap()[path] = document;
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Returns a token that is signed with a key.
    fn token(&self, key: usize) -> String {
        let claims = json!({ "iss": self.address, "sub": "a", "aud": "b", "iat": 1_700_000_000, "exp": 4_000_000_000_u64 });
        self.keys[key].sign(&claims).unwrap().to_string()
    }

    async fn verify(&self, cache: &IssuerKeyCache, token: &str) -> Result<VerifiedToken, VerificationError> {
        let issuer = Issuer::new(&self.address).unwrap();
        cache.verify(&issuer, &organization("acme"), SubjectToken::parse(token).unwrap()).await
    }
}

async fn respond(mut stream: TcpStream, documents: Arc<Mutex<Value>>) {
    let mut buffer = [0; 2048];
    let count = stream.read(&mut buffer).await.unwrap();
    let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let document = documents.lock().unwrap()[path].clone();
    let (status, body) = if document.is_null() { (404, String::new()) } else { (200, document.to_string()) };
    let length = body.len();
    let response =
        format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    let _ = stream.write_all(response.as_bytes()).await;
}

fn cache() -> IssuerKeyCache {
    let allow = AllowList::new(["127.0.0.0/8".parse().unwrap()]);
    IssuerKeyCache::new(OutboundClient::new(allow))
}

fn organization(slug: &str) -> OrganizationNames {
    OrganizationNames { id: format!("org_{slug}"), slug: slug.to_owned() }
}

fn is_unavailable(result: &Result<VerifiedToken, VerificationError>) -> bool {
    matches!(result, Err(VerificationError::KeysUnavailable))
}

#[tokio::test]
async fn keys_are_requested_once() {
    let (issuer, cache) = (TestIssuer::start().await, cache());
    let token = issuer.token(0);
    let results = join_all((0..20).map(|_| issuer.verify(&cache, &token))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(results[0].as_ref().unwrap().claims["sub"], "a");
    // The description and the keys.
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test]
async fn invented_keys_cause_no_requests() {
    let (issuer, cache) = (TestIssuer::start().await, cache());
    assert!(issuer.verify(&cache, &issuer.token(0)).await.is_ok());
    let unknown = issuer.token(1);
    for result in join_all((0..20).map(|_| issuer.verify(&cache, &unknown))).await {
        assert!(matches!(result, Err(VerificationError::Token(UnverifiedToken::UnknownKey))), "{result:?}");
    }
    assert!(issuer.verify(&cache, &issuer.token(0)).await.is_ok());
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test]
async fn an_issuer_that_fails_is_not_requested_again_immediately() {
    let (issuer, cache) = (TestIssuer::start().await, cache());
    issuer.publish("/.well-known/openid-configuration", Value::Null);
    for _ in 0..3 {
        let result = issuer.verify(&cache, &issuer.token(0)).await;
        assert!(is_unavailable(&result), "{result:?}");
    }
    assert_eq!(issuer.requests(), 1);
}

#[tokio::test]
async fn documents_that_do_not_fit_are_rejected() {
    let description = "/.well-known/openid-configuration";
    let other = TestIssuer::start().await;
    for (path, change) in [
        (
            description,
            json!({ "issuer": "https://evil.example", "jwks_uri": format!("{}/keys", other.address) }),
        ),
        (description, json!({ "jwks_uri": format!("{}/keys", other.address) })),
        (description, json!([])),
        ("/keys", json!([])),
        ("/keys", json!({ "keys": {} })),
        ("/keys", json!({ "keys": "a".repeat(70_000) })),
    ] {
        let issuer = TestIssuer::start().await;
        issuer.publish(path, change.clone());
        let result = issuer.verify(&cache(), &issuer.token(0)).await;
        assert!(is_unavailable(&result), "{path} {result:?}");
    }
    // The address of the keys is checked as that of the issuer is.
    let issuer = TestIssuer::start().await;
    for address in ["http://169.254.169.254/", "https://10.0.0.1/", "file:///etc/passwd", "http://[::1]:1/"] {
        issuer.publish(description, json!({ "issuer": issuer.address, "jwks_uri": address }));
        let result = issuer.verify(&cache(), &issuer.token(0)).await;
        assert!(is_unavailable(&result), "{address} {result:?}");
    }
    assert_eq!(other.requests(), 0);
}

#[tokio::test]
async fn an_issuer_in_a_private_network_is_not_reached() {
    let issuer = TestIssuer::start().await;
    let cache = IssuerKeyCache::new(OutboundClient::new(AllowList::default()));
    let result = issuer.verify(&cache, &issuer.token(0)).await;
    assert!(is_unavailable(&result), "{result:?}");
    assert_eq!(issuer.requests(), 0);
}

#[tokio::test]
async fn an_organization_uses_only_keys_that_it_could_read_itself() {
    let issuer = TestIssuer::start().await;
    let cache_with =
        |allow: &str| IssuerKeyCache::new(OutboundClient::new(AllowList::new([allow.parse().unwrap()])));
    let verify = async |cache: &IssuerKeyCache, slug: &str| {
        let (name, token) = (Issuer::new(&issuer.address).unwrap(), issuer.token(0));
        cache.verify(&name, &organization(slug), SubjectToken::parse(&token).unwrap()).await
    };
    let narrow = cache_with("issuer=127.0.0.0/8@acme");
    assert!(verify(&narrow, "acme").await.is_ok());
    let refused = verify(&narrow, "globex").await;
    assert!(is_unavailable(&refused), "{refused:?}");
    assert_eq!(issuer.requests(), 2);
    // Without entries of organizations, one organization's request serves all.
    let shared = cache_with("issuer=127.0.0.0/8");
    assert!(verify(&shared, "acme").await.is_ok() && verify(&shared, "globex").await.is_ok());
    assert_eq!(issuer.requests(), 4);
    let other_purpose = verify(&cache_with("registry=127.0.0.0/8"), "acme").await;
    assert!(is_unavailable(&other_purpose), "{other_purpose:?}");
    assert_eq!(issuer.requests(), 4);
}
