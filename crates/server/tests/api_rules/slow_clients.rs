//! Clients that are slow on purpose: they are disconnected after some seconds, and do not block others meanwhile.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_app::limits::{ClientTiming, LimitSettings};
use greenroom_server::http::Limits;
use sqlx::{ConnectOptions, PgPool};

use crate::requests::new_pipeline;
use crate::support::TestServer;
use crate::support::database::TestDatabase;
use crate::wire::{Upload, Wire};

const HEADER_TIMEOUT: Duration = Duration::from_secs(1);
/// Long enough that a client that keeps to the minimum rate does not fall below it when the test machine stalls.
pub const BODY_WINDOW: Duration = Duration::from_secs(2);
/// The server waits this long for the bodies of an attack. It is longer than it takes to open the connections and to
/// measure.
const ATTACK_WINDOW: Duration = Duration::from_secs(7);
/// Longer than both, and shorter than the default timeouts.
const TIMEOUT: Duration = Duration::from_secs(6);
/// The time between two bytes of a head, of which there are too many to send within the timeout.
const BYTE_INTERVAL: Duration = Duration::from_millis(250);

/// Starts a server that waits for slow clients for a short time.
pub async fn start(pool: &PgPool) -> TestServer {
    let timing =
        ClientTiming { header_timeout: HEADER_TIMEOUT, body_window: BODY_WINDOW, ..ClientTiming::default() };
    start_with(pool, Duration::from_secs(15), timing).await
}

/// Returns times in which an attack with incomplete bodies can be prepared and measured.
pub fn patient() -> ClientTiming {
    ClientTiming { body_window: ATTACK_WINDOW, ..ClientTiming::default() }
}

/// Starts a server with this deadline of requests and these times for its clients.
pub async fn start_with(pool: &PgPool, deadline: Duration, timing: ClientTiming) -> TestServer {
    let limits = Limits::with_client_timing(deadline, LimitSettings::default(), timing);
    TestServer::start_on(pool.connect_options().to_url_lossy().as_str(), limits).await
}

/// Sends the text byte by byte until it is sent or the server closes. Returns when the server closed.
async fn trickle(mut wire: Wire, text: &str) -> Option<Duration> {
    let started = Instant::now();
    for byte in text.bytes() {
        if wire.write([byte]).await.is_err() || wire.closed(BYTE_INTERVAL).await.is_some() {
            return Some(started.elapsed());
        }
        if started.elapsed() > TIMEOUT {
            return None;
        }
    }
    wire.closed(TIMEOUT.saturating_sub(started.elapsed())).await.map(|_| started.elapsed())
}

#[tokio::test]
async fn waits_a_slow_request_head_times_out() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool).await;
    let slow = trickle(Wire::connect(&server).await, "GET /livez HTTP/1.1\r\nHost: x\r\n");
    let mut kept = Wire::connect(&server).await;
    kept.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut half = Wire::connect(&server).await;
    half.write("GET /livez HTTP/1.1\r\nHost: x\r\n").await.unwrap();
    let (slow, kept, half) = tokio::join!(slow, kept.closed(TIMEOUT), half.closed(TIMEOUT));
    assert!(slow.is_some(), "byte by byte");
    assert!(kept.is_some(), "kept alive after a response");
    assert!(half.is_some(), "half a head");
    server.end().await;
}

#[tokio::test]
async fn waits_an_idle_connection_is_closed() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool).await;
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
async fn waits_a_slow_body_times_out() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool).await;
    let owner = server.organization("acme").await;
    let started = Instant::now();
    let mut upload = Upload::begin(&server, &owner, "/pipelines", &new_pipeline("Slow")).await;
    let reply = upload.wire.reply().await;
    assert_eq!((reply.status, reply.json()["code"].as_str()), (408, Some("request_timeout")));
    assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 0);
    server.end().await;
}

/// The times that are documented are those of an installation, which the tests above shorten.
#[test]
fn the_documented_times_are_the_defaults() {
    let timing = ClientTiming::default();
    let page = include_str!("../../../../docs/errors/request_timeout.md");
    let (header, body) = (timing.header_timeout.as_secs(), timing.body_window.as_secs());
    assert!(page.contains(&format!("more slowly than 1 KiB/s for {body} seconds")), "{page}");
    assert!(page.contains(&format!("*headers* take longer than {header} seconds")), "{page}");
    let document = include_str!("../../../../openapi/api.json");
    let heartbeat = timing.stream_heartbeat_interval.as_secs();
    assert!(document.contains(&format!("comment every {heartbeat} seconds")), "of {heartbeat} s");
}
