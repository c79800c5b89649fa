//! Synchronizations of registries on a real git server, by the loop of a worker.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use greenroom_hostile_registries::git_server::GitServer;
use greenroom_hostile_registries::repository::Repository;
use greenroom_keys::{KeySource, Keys};
use greenroom_server::config::OutboundConfig;
use greenroom_server::secret_keys::reseal;
use greenroom_worker::registry_sync;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::requests::success;
use crate::step_registries::{manifest, send, types};
use crate::support::database::TestDatabase;
use crate::support::{Caller, MASTER_KEY, TestServer, eventually};

/// What is read about every failure at an address that only `--outbound-allow` opens.
const ONLY_LISTED: &str = "there is no usable response from this address, which is in a network that only the setting \
                           --outbound-allow opens: the operator finds the reason in the log";
const PASSWORD: &str = "hunter2-hunter2";
/// `bot:hunter2-hunter2`, encoded.
const BOT: &str = "Basic Ym90Omh1bnRlcjItaHVudGVyMg==";

/// A repository with the step `roll-out`, without a tag.
fn repository() -> Repository {
    let repository = Repository::init();
    repository.write("roll-out/step.yaml", &manifest("first"));
    repository.commit();
    repository
}

async fn private_server(repository: &Repository) -> GitServer {
    GitServer::start_with(repository, Some(BOT.to_owned()), Arc::new(|_| {})).await
}

/// Runs the loop of a worker until it has synchronized the registry. Returns the registry.
async fn synchronize(server: &TestServer, pool: &PgPool, owner: &Caller, (id, keys): (&str, &Keys)) -> Value {
    let due =
        "update step_registries set next_sync_at = 'epoch', leased_until = null where 'reg_' || id = $1";
    sqlx::query(due).bind(id).execute(pool).await.unwrap();
    let stop = CancellationToken::new();
    let outbound = OutboundConfig { outbound_allow: vec!["registry=127.0.0.0/8@acme".parse().unwrap()] };
    let (store, reader) = (server.server.app.store.clone(), outbound.registry_reader());
    let running = registry_sync::run(store, reader, keys.clone(), stop.clone());
    let ended = async {
        let is_synchronized = "select next_sync_at > clock_timestamp() and leased_until is null
                               from step_registries where 'reg_' || id = $1";
        let ended = eventually(Duration::from_secs(60), || async {
            sqlx::query_scalar::<_, bool>(is_synchronized).bind(id).fetch_one(pool).await.unwrap()
        })
        .await;
        stop.cancel();
        ended
    };
    let (_, ended) = tokio::join!(running, ended);
    assert!(ended, "the registry is not synchronized");
    server.get(owner, &format!("/step-registries/{id}")).await["data"].take()
}

async fn create(server: &TestServer, owner: &Caller, body: Value) -> String {
    server.post(owner, "/step-registries", body).await["id"].as_str().unwrap().to_owned()
}

async fn patch(server: &TestServer, owner: &Caller, id: &str, body: Value) {
    let path = format!("/step-registries/{id}");
    success(send(server, owner, Method::PATCH, &path, &body).await, 200).await;
}

fn error(registry: &Value) -> &str {
    assert_eq!(registry["status"], "degraded", "{registry}");
    registry["error"].as_str().unwrap()
}

#[tokio::test]
async fn a_private_registry_is_read_with_its_credential() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let keys = &server.server.app.keys.clone();
    let repository = repository();
    repository.git(&["tag", "roll-out/v1.0.0"]);
    let git = private_server(&repository).await;
    let id = create(&server, &owner, json!({ "name": "acme", "url": git.url })).await;
    let without = synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!(error(&without), ONLY_LISTED);

    patch(&server, &owner, &id, json!({ "credential": { "password": PASSWORD } })).await;
    let refused = synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!(error(&refused), ONLY_LISTED);
    assert!(!refused.to_string().contains(PASSWORD), "{refused}");

    let bot = json!({ "credential": { "username": "bot", "password": PASSWORD } });
    patch(&server, &owner, &id, bot).await;
    let synced = synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!((&synced["status"], &synced["error"]), (&json!("active"), &json!(null)));
    let version = server.get(&owner, &format!("/step-registries/{id}/steps/roll-out/versions/1.0.0")).await;
    assert_eq!(version["data"]["manifest"], manifest("first"));
    assert!(git.requests().iter().any(|request| request.authorization == BOT));

    patch(&server, &owner, &id, json!({ "credential": null })).await;
    let removed = synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!(error(&removed), ONLY_LISTED);
    server.end().await;
}

/// Nothing is sent, neither with the credential nor without it: another server could pose as the private one.
#[tokio::test]
async fn a_credential_that_does_not_open_ends_the_synchronization() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let keys = &server.server.app.keys.clone();
    let repository = repository();
    repository.git(&["tag", "roll-out/v1.0.0"]);
    let (git, evil) = (private_server(&repository).await, private_server(&repository).await);
    let credential = json!({ "username": "bot", "password": PASSWORD });
    let id =
        create(&server, &owner, json!({ "name": "acme", "url": git.url, "credential": credential })).await;

    let none = synchronize(&server, &pool, &owner, (&id, &Keys::default())).await;
    assert!(error(&none).contains("--secrets-key-file"), "{none}");
    let other = MASTER_KEY.replace("test:A", "other:B");
    let other = Keys::load(Some(KeySource::Command(format!("printf %s '{other}'")))).await.unwrap();
    let other = synchronize(&server, &pool, &owner, (&id, &other)).await;
    assert!(error(&other).contains("master keys of the servers"), "{other}");
    assert_eq!(git.requests().len(), 0);

    // Someone with access to the database lets it point to a server of their own.
    let point_to = "update step_registries set url = $2 where 'reg_' || id = $1";
    sqlx::query(point_to).bind(&id).bind(&evil.url).execute(&pool).await.unwrap();
    let moved = synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert!(error(&moved).contains("set the credential again"), "{moved}");
    assert_eq!(evil.requests().len(), 0);
    sqlx::query(point_to).bind(&id).bind(&git.url).execute(&pool).await.unwrap();

    let resealed = reseal(&server.server.app.store, keys, &"acme".parse().unwrap()).await.unwrap();
    assert_eq!(resealed["resealed"], 1);
    let synced = synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!((&synced["status"], &synced["error"]), (&json!("active"), &json!(null)));
    server.end().await;
}

struct SigningKeys(TempDir);

impl SigningKeys {
    /// Makes a key, and returns its file and the line of its signer.
    fn create(&self, name: &str) -> (PathBuf, String) {
        let path = self.0.path().join(name);
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(&path);
        assert!(command.status().unwrap().success());
        let public = std::fs::read_to_string(path.with_extension("pub")).unwrap();
        let signer = format!("{name}@example.com {}", public.trim());
        (path, signer)
    }
}

fn sign(repository: &Repository, tag: &str, key: &Path) {
    let key = format!("user.signingkey={}", key.display());
    let sign = ["tag", "--force", "--sign", "--message", "x", tag];
    repository.git(&[&["-c", "gpg.format=ssh", "-c", &key][..], &sign[..]].concat());
}

#[tokio::test]
async fn tags_that_were_refused_for_their_signature_are_read_again_for_other_signers() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let keys = &Keys::default();
    let (repository, signing) = (repository(), SigningKeys(TempDir::new().unwrap()));
    let ((alice, alice_line), (bob, bob_line)) = (signing.create("alice"), signing.create("bob"));
    sign(&repository, "roll-out/v1.0.0", &alice);
    sign(&repository, "roll-out/v2.0.0", &bob);
    let git = GitServer::start(&repository).await;
    let id = create(
        &server,
        &owner,
        json!({ "name": "acme", "url": git.url, "signers": [alice_line], "requireSignature": true }),
    )
    .await;
    let versions = async || {
        let list = server.get(&owner, &format!("/step-registries/{id}/steps/roll-out/versions")).await;
        let list = list["data"].as_array().unwrap().clone();
        let pairs = list.iter().map(|version| {
            let text = |field: &str| version[field].as_str().unwrap().to_owned();
            (text("version"), text("signer"))
        });
        pairs.collect::<Vec<_>>()
    };
    let counts = async || {
        let types = types(&server, &pool, &owner).await;
        ["step.signature_refused", "step.tag_moved"]
            .map(|expected| types.iter().filter(|name| *name == expected).count())
    };
    let by_alice = ("1.0.0".to_owned(), "alice@example.com".to_owned());
    synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!(versions().await, std::slice::from_ref(&by_alice));
    // A moved tag is reported once, whatever becomes of the signers.
    repository.git(&["commit", "--quiet", "--allow-empty", "--message", "y"]);
    sign(&repository, "roll-out/v1.0.0", &alice);
    synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!(counts().await, [1, 1]);

    patch(&server, &owner, &id, json!({ "signers": [alice_line, bob_line] })).await;
    let synced = synchronize(&server, &pool, &owner, (&id, keys)).await;
    assert_eq!(synced["status"], "active", "{synced}");
    let by_bob = ("2.0.0".to_owned(), "bob@example.com".to_owned());
    assert_eq!(versions().await, [by_bob, by_alice]);
    assert_eq!(counts().await, [1, 1]);
    server.end().await;
}

/// Responds to every connection with these bytes.
async fn serve(response: &'static [u8]) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let serving = async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(response).await;
        }
    };
    #[expect(clippy::disallowed_methods, reason = "aborted when the test ends")]
    let task = AbortOnDropHandle::new(tokio::spawn(serving));
    (url, task)
}

/// Otherwise an admin could find out what listens in a network that only the operator has opened.
#[tokio::test]
async fn all_failures_at_an_address_that_only_the_operator_allows_read_the_same() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut urls = vec![(format!("http://{closed}/x"), None)];
    for response in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"[..],
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 500 Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        b"+OK POP3 ready\r\n",
    ] {
        let (url, task) = serve(response).await;
        urls.push((url, Some(task)));
    }
    for (number, (url, _task)) in urls.iter().enumerate() {
        let id = create(&server, &owner, json!({ "name": format!("registry-{number}"), "url": url })).await;
        let failed = synchronize(&server, &pool, &owner, (&id, &Keys::default())).await;
        assert_eq!(error(&failed), ONLY_LISTED, "{url}");
    }
    // Another organization does not reach the same address at all.
    let stranger = server.organization("globex").await;
    let id = create(&server, &stranger, json!({ "name": "registry", "url": urls[1].0 })).await;
    let refused = synchronize(&server, &pool, &stranger, (&id, &Keys::default())).await;
    assert!(error(&refused).contains("127.0.0.1"), "{refused}");
    server.end().await;
}
