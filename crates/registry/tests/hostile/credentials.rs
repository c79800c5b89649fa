//! Where a credential is sent, and where it is not.

use std::sync::{Arc, Mutex};

use greenroom_domain::step::StepTag;
use greenroom_hostile_registries::git_server::GitServer;
use greenroom_hostile_registries::hostile_server::{HostileServer, Reply, capabilities};
use greenroom_hostile_registries::repository::Repository;
use greenroom_registry::{Credential, RegistryError, Source};

use crate::{TestReader, bounds, source};

const PASSWORD: &str = "hunter2-hunter2";
/// `x-access-token:hunter2-hunter2`, encoded.
const TOKEN: &str = "Basic eC1hY2Nlc3MtdG9rZW46aHVudGVyMi1odW50ZXIy";
/// `bot:hunter2-hunter2`, encoded.
const BOT: &str = "Basic Ym90Omh1bnRlcjItaHVudGVyMg==";

fn private(url: &str, credential: Credential) -> Source {
    Source::new(url, Some(credential)).unwrap()
}

fn token() -> Credential {
    Credential::token(PASSWORD.to_owned().into()).unwrap()
}

/// Returns the arguments of all processes on this machine.
fn all_arguments() -> String {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " ") + "\n")
        .collect()
}

#[tokio::test]
async fn the_credential_is_sent_and_is_in_no_argument() {
    let repository = Repository::with_step();
    let seen = Arc::new(Mutex::new(String::new()));
    let arguments = Arc::clone(&seen);
    let on_request = Arc::new(move |_: &str| arguments.lock().unwrap().push_str(&all_arguments()));
    let server = GitServer::start_with(&repository, Some(TOKEN.to_owned()), on_request).await;
    let reader = TestReader::new();
    let tags = reader.reader.list_tags(&private(&server.url, token()), &bounds()).await.unwrap();
    let tag = StepTag::parse(&tags[0].name).unwrap();
    let fetched =
        reader.reader.fetch_step(&private(&server.url, token()), &tag, &tags[0].object, &bounds()).await;
    assert_eq!(fetched.unwrap().files.len(), 1);
    let seen = seen.lock().unwrap();
    assert!(seen.contains("ls-remote") && seen.contains("remote-http"), "git was seen");
    assert!(!seen.contains(PASSWORD));
    assert!(!seen.contains(TOKEN.trim_start_matches("Basic ")));
}

#[tokio::test]
async fn a_user_name_can_be_given() {
    let repository = Repository::with_step();
    let server = GitServer::start_with(&repository, Some(BOT.to_owned()), Arc::new(|_| {})).await;
    let credential = Credential::new("bot".to_owned().into(), PASSWORD.to_owned().into()).unwrap();
    let tags = TestReader::new().reader.list_tags(&private(&server.url, credential), &bounds()).await;
    assert_eq!(tags.unwrap().len(), 1);
}

#[tokio::test]
async fn a_wrong_or_missing_credential_is_named_and_not_shown() {
    let repository = Repository::with_step();
    let server = GitServer::start_with(&repository, Some(BOT.to_owned()), Arc::new(|_| {})).await;
    let reader = TestReader::new();
    let error = reader.reader.list_tags(&source(&server.url), &bounds()).await.unwrap_err();
    assert!(matches!(error, RegistryError::CredentialRequired), "{error:?}");
    // The server repeats it in its response.
    let error = reader.reader.list_tags(&private(&server.url, token()), &bounds()).await.unwrap_err();
    assert!(matches!(error, RegistryError::CredentialRefused), "{error:?}");
    assert!(server.requests().iter().any(|request| request.authorization == TOKEN));
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(PASSWORD) && !shown.contains(&TOKEN[6..]), "{shown}");
}

#[tokio::test]
async fn a_server_that_requires_none_does_not_get_it() {
    let repository = Repository::with_step();
    let server = GitServer::start(&repository).await;
    TestReader::new().reader.list_tags(&private(&server.url, token()), &bounds()).await.unwrap();
    assert!(server.requests().iter().all(|request| request.authorization.is_empty()));
}

#[tokio::test]
async fn another_server_does_not_get_it() {
    let target = HostileServer::start(|_, _| capabilities()).await;
    let location = format!("http://127.0.0.1:{}/x/info/refs?service=git-upload-pack", target.port);
    let server = HostileServer::start(move |_, _| {
        Reply::Raw(
            format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes(),
        )
    })
    .await;
    let error =
        TestReader::new().reader.list_tags(&private(&server.url, token()), &bounds()).await.unwrap_err();
    assert!(matches!(error, RegistryError::Redirect), "{error:?}");
    assert_eq!(target.connections(), 0);
}
