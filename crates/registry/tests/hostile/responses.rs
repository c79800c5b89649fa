//! Servers that hold the reader up, or fill its memory.

use std::time::{Duration, Instant};

use greenroom_registry::{Bounds, RegistryError};

use crate::hostile_server::{
    HostileServer, OBJECT, Reply, advertisement_head, capabilities, head, packet, response, result,
    result_head,
};
use crate::{GRACE, TestReader, bounds, source};

/// Lists tags of a server that responds to every request in the same way.
async fn list(bounds: Bounds, respond: impl Fn() -> Reply + Send + Sync + 'static) -> RegistryError {
    let server = HostileServer::start(move |_, _| respond()).await;
    let started = Instant::now();
    let error = TestReader::new().reader.list_tags(&source(&server.url), &bounds).await.unwrap_err();
    assert!(started.elapsed() < bounds.timeout + GRACE);
    error
}

fn endless(start: Vec<u8>, piece: &[u8], pause: Duration) -> Reply {
    Reply::Endless { start, piece: piece.to_vec(), pause }
}

#[tokio::test]
async fn one_byte_a_second_is_too_slow() {
    let drip = || endless(advertisement_head(), b"0", Duration::from_secs(1));
    let error = list(bounds(), drip).await;
    assert!(matches!(error, RegistryError::TooSlow(_)), "{error:?}");
}

#[tokio::test]
async fn silence_is_too_slow() {
    let error = list(bounds(), || Reply::Silence).await;
    assert!(matches!(error, RegistryError::TooSlow(_)), "{error:?}");
}

#[tokio::test]
async fn a_response_that_is_fast_enough_times_out() {
    let bounds = Bounds { timeout: Duration::from_secs(4), ..bounds() };
    let drip = || endless(advertisement_head(), &[b'0'; 4000], Duration::from_millis(100));
    let error = list(bounds, drip).await;
    assert!(matches!(error, RegistryError::Timeout(_)), "{error:?}");
}

#[tokio::test]
async fn an_endless_response_ends_with_an_error() {
    let line = packet(format!("{OBJECT} refs/tags/roll-out/v1.0.0\n").as_bytes()).repeat(1000);
    let error = list(bounds(), move || endless(advertisement_head(), &line, Duration::ZERO)).await;
    assert!(matches!(error, RegistryError::TooManyTags { .. }), "{error:?}");
}

#[tokio::test]
async fn a_million_refs_end_with_an_error() {
    let mut refs = Vec::new();
    for number in 0..1_000_000 {
        refs.extend(packet(format!("{OBJECT} refs/tags/roll-out/v1.0.{number}\n").as_bytes()));
    }
    refs.extend(b"0000");
    let server = HostileServer::start(move |line, _| match line.starts_with("GET") {
        true => capabilities(),
        false => result(&refs),
    })
    .await;
    let error = TestReader::new().reader.list_tags(&source(&server.url), &bounds()).await.unwrap_err();
    assert!(matches!(error, RegistryError::TooManyTags { .. }), "{error:?}");
}

#[tokio::test]
async fn endless_messages_end_with_an_error() {
    let message = packet(b"\x02all is well\n").repeat(1000);
    let server = HostileServer::start_with_objects(move || {
        endless([result_head(), packet(b"packfile\n")].concat(), &message, Duration::ZERO)
    })
    .await;
    let error = TestReader::new().fetch_expected(&server.url, "roll-out/v1.0.0", OBJECT).await.unwrap_err();
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn what_is_not_git_is_refused() {
    let page = || response("text/html", b"<html>hunter2</html>");
    let broken = || response("application/x-git-upload-pack-advertisement", b"zzzz");
    for error in [list(bounds(), page).await, list(bounds(), broken).await] {
        assert!(matches!(error, RegistryError::Protocol), "{error:?}");
    }
    let fails = || Reply::Raw(head("503 Unavailable", "text/plain"));
    let error = list(bounds(), fails).await;
    assert!(matches!(error, RegistryError::Status(503)), "{error:?}");
}

/// The first HTTP protocol has only files, and would let the server name other servers.
#[tokio::test]
async fn the_first_http_protocol_is_refused() {
    let refs = format!("{OBJECT}\trefs/tags/roll-out/v1.0.0\n");
    let server = HostileServer::start(move |line, _| match line.contains("/info/refs") {
        true => response("text/plain", refs.as_bytes()),
        false => Reply::Raw(head("404 Not Found", "text/plain")),
    })
    .await;
    let error = TestReader::new().fetch_expected(&server.url, "roll-out/v1.0.0", OBJECT).await.unwrap_err();
    assert!(matches!(error, RegistryError::Protocol | RegistryError::NotFound), "{error:?}");
}
