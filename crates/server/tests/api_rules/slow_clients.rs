//! Clients that are slow on purpose: they are disconnected after ten seconds, and do not block others
//! meanwhile.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::requests::new_pipeline;
use crate::support::TestServer;
use crate::support::database::TestDatabase;
use crate::wire::{Upload, Wire};

const TIMEOUT: Duration = Duration::from_secs(12);

/// Sends the text at one byte per second until it is sent or the server closes. Returns when the server
/// closed.
async fn trickle(mut wire: Wire, text: &str) -> Option<Duration> {
    let started = Instant::now();
    for byte in text.bytes() {
        if wire.write([byte]).await.is_err() || wire.closed(Duration::from_secs(1)).await.is_some() {
            return Some(started.elapsed());
        }
        if started.elapsed() > TIMEOUT {
            return None;
        }
    }
    wire.closed(TIMEOUT.saturating_sub(started.elapsed())).await.map(|_| started.elapsed())
}

#[tokio::test]
async fn heavy_a_slow_request_head_times_out() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let slow = trickle(Wire::connect(&server).await, "GET /livez HTTP/1.1\r\nHost: x\r\n");
    let mut kept = Wire::connect(&server).await;
    kept.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut half = Wire::connect(&server).await;
    half.write("GET /livez HTTP/1.1\r\nHost: x\r\n").await.unwrap();
    let (slow, kept, half) = tokio::join!(slow, kept.closed(TIMEOUT), half.closed(TIMEOUT));
    assert!(slow.is_some(), "a byte a second");
    assert!(kept.is_some(), "kept alive after a response");
    assert!(half.is_some(), "half a head");
    server.end().await;
}

#[tokio::test]
async fn heavy_an_idle_connection_is_closed() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    // The last two are prefixes of the HTTP/2 preface.
    let mut wires = Vec::new();
    for text in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM"] {
        let mut wire = Wire::connect(&server).await;
        wire.write(text).await.unwrap();
        wires.push((text, wire));
    }
    let closed =
        join_all(wires.iter_mut().map(|(text, wire)| async { (*text, wire.closed(TIMEOUT).await) })).await;
    let open: Vec<&str> =
        closed.iter().filter(|(_, closed)| closed.is_none()).map(|(text, _)| *text).collect();
    assert!(open.is_empty(), "still open after {TIMEOUT:?}: {open:?}");
    server.end().await;
}

#[tokio::test]
async fn heavy_a_slow_body_times_out() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let started = Instant::now();
    let mut upload = Upload::begin(&server, &owner, "/pipelines", &new_pipeline("Slow")).await;
    let reply = upload.wire.reply().await;
    assert_eq!((reply.status, reply.json()["code"].as_str()), (408, Some("request_timeout")));
    assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 0);
    server.end().await;
}
