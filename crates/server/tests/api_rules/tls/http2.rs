//! HTTP/2 connections have the limits of HTTP/1.1: idle ones end, a client that takes nothing is given up, and a stop
//! waits for open requests only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use greenroom_server::serve::Connections;

use super::fixture::{TIMEOUT, TlsFixture};
use super::frames::{self, ACK, DATA, GOAWAY, HEADERS, PING, RST_STREAM, STATUS_200};
use crate::support::eventually;

const SHORT: Duration = Duration::from_millis(500);

/// Endless responses at `/endless`, each of which holds the guard while it is open.
fn router(guard: &Arc<()>) -> Router {
    let guard = Arc::clone(guard);
    let endless = get(async move || {
        let chunk = Bytes::from(vec![0; 64 * 1024]);
        Body::from_stream(stream::unfold(Arc::clone(&guard), move |guard| {
            let chunk = chunk.clone();
            async move { Some((Ok::<_, std::io::Error>(chunk), guard)) }
        }))
    });
    Router::new().route("/", get(async || "page")).route("/endless", endless)
}

#[tokio::test]
async fn requests_of_one_connection_are_concurrent() {
    let fixture = TlsFixture::start().await;
    let (mut reader, mut writer) = frames::open(&fixture).await;
    let requests: Vec<u8> = (0..50).flat_map(|number| frames::get(number * 2 + 1, "/")).collect();
    writer.send(&requests).await.unwrap();
    for _ in 0..50 {
        let headers = reader.next_of(HEADERS).await;
        assert_eq!(headers.payload[0], STATUS_200, "{headers:?}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn waits_an_idle_connection_is_closed() {
    let connections = Connections::default().with_header_timeout(SHORT);
    let fixture = TlsFixture::start_with(router(&Arc::default()), connections).await;
    let started = Instant::now();
    // One without the preface, one without a request, one after a request, and one with half a header block.
    let mut silent = frames::connect(&fixture).await;
    let mut unused = frames::open(&fixture).await;
    let mut used = frames::open(&fixture).await;
    used.1.send(&frames::get(1, "/")).await.unwrap();
    let mut half = frames::open(&fixture).await;
    half.1.send(&frames::frame(HEADERS, 0, 1, &[0x82])).await.unwrap();
    for (name, (reader, _)) in
        [("silent", &mut silent), ("unused", &mut unused), ("used", &mut used), ("half", &mut half)]
    {
        reader.ended().await;
        assert!(started.elapsed() < TIMEOUT / 2, "{name}: {:?}", started.elapsed());
    }
    fixture.end().await;
}

#[tokio::test]
async fn waits_a_client_that_takes_nothing_of_one_response_loses_it_alone() {
    let guard = Arc::new(());
    let connections = Connections::default().with_write_timeout(SHORT);
    let fixture = TlsFixture::start_with(router(&guard), connections).await;
    let idle = Arc::strong_count(&guard);
    let (mut reader, mut writer) = frames::open(&fixture).await;
    // It reads from the connection, and never allows more of the response than the first 65,535 bytes.
    writer.send(&frames::get(1, "/endless")).await.unwrap();
    assert_eq!(reader.next_of(HEADERS).await.stream, 1);
    let released = || async { Arc::strong_count(&guard) == idle };
    assert!(eventually(TIMEOUT, released).await, "the response is still open");
    // The stream is reset after what was sent already.
    let more = 1_000_000_u32.to_be_bytes();
    for stream in [0, 1] {
        writer.send(&frames::frame(frames::WINDOW_UPDATE, 0, stream, &more)).await.unwrap();
    }
    assert_eq!(reader.next_of(RST_STREAM).await.stream, 1);
    writer.send(&frames::get(3, "/")).await.unwrap();
    assert_eq!(reader.next_of(HEADERS).await.stream, 3);
    fixture.end().await;
}

#[tokio::test]
async fn waits_a_client_that_takes_its_response_slowly_keeps_it() {
    let connections = Connections::default().with_write_timeout(SHORT);
    let fixture = TlsFixture::start_with(router(&Arc::default()), connections).await;
    let (mut reader, mut writer) = frames::open(&fixture).await;
    writer.send(&frames::get(1, "/endless")).await.unwrap();
    let mut taken = 0;
    // The window is opened by a piece, several times within the timeout.
    for _ in 0..16 {
        tokio::time::sleep(SHORT / 4).await;
        for stream in [0, 1] {
            let update = frames::frame(frames::WINDOW_UPDATE, 0, stream, &16_384_u32.to_be_bytes());
            writer.send(&update).await.unwrap();
        }
        taken += reader.next_of(DATA).await.payload.len();
    }
    assert!(taken > 16_384, "{taken} bytes");
    fixture.end().await;
}

#[tokio::test]
async fn a_stop_waits_for_open_requests_and_not_for_idle_connections() {
    let fixture = TlsFixture::start().await;
    let (mut reader, mut writer) = frames::open(&fixture).await;
    writer.send(&frames::get(1, "/")).await.unwrap();
    reader.next_of(DATA).await;
    let began = Instant::now();
    fixture.stop.cancel();
    // The server announces the end, and sends a ping whose response shows that the client has read it.
    reader.next_of(GOAWAY).await;
    let ping = reader.next_of(PING).await;
    writer.send(&frames::frame(PING, ACK, 0, &ping.payload)).await.unwrap();
    reader.ended().await;
    fixture.end().await;
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_silent_client_does_not_delay_a_stop() {
    let fixture = TlsFixture::start().await;
    let _silent = frames::connect(&fixture).await;
    let (mut reader, mut writer) = frames::open(&fixture).await;
    writer.send(&frames::get(1, "/")).await.unwrap();
    reader.next_of(DATA).await;
    let began = Instant::now();
    fixture.end().await;
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}
