//! Floods of HTTP/2 frames: the connection is closed, and others are served meanwhile.

use std::time::{Duration, Instant};

use super::fixture::{TIMEOUT, TlsFixture, get_once};
use super::frames::{self, CONTINUATION, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, Reader, Writer};

/// `ENHANCE_YOUR_CALM`, with which a server closes a connection that sends too much.
const ENHANCE_YOUR_CALM: u32 = 11;
/// How many frames a flood has, unless it is stopped before.
const MAX_FRAMES: u32 = 200_000;
/// How many frames are sent together.
const BATCH: u32 = 200;

/// Sends frames until the server closes. Returns how many batches it has taken, and the reason that it has sent.
async fn flood(
    (mut reader, mut writer): (Reader, Writer),
    batch: impl Fn(u32) -> Vec<u8>,
) -> (u32, Option<u32>) {
    let send = async {
        for number in 0..MAX_FRAMES / BATCH {
            if writer.send(&batch(number)).await.is_err() {
                return number;
            }
        }
        MAX_FRAMES / BATCH
    };
    let (sent, code) =
        tokio::time::timeout(TIMEOUT, async { tokio::join!(send, reader.ended()) }).await.unwrap();
    (sent, code)
}

/// Requests a page every few milliseconds until `attack` ends. Returns the longest time that one took.
async fn served_during<T>(fixture: &TlsFixture, attack: impl Future<Output = T>) -> (T, Duration) {
    let mut attack = std::pin::pin!(attack);
    let mut longest = Duration::ZERO;
    loop {
        let request = async {
            let started = Instant::now();
            let mut stream = fixture.connect(&["http/1.1"]).await;
            let response = get_once(&mut stream, "x", "").await.unwrap();
            assert!(response.ends_with("page"), "{response}");
            tokio::time::sleep(Duration::from_millis(5)).await;
            started.elapsed()
        };
        tokio::select! {
            biased;
            ended = attack.as_mut() => return (ended, longest),
            took = request => longest = longest.max(took),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_reset_at_once_end_the_connection() {
    let fixture = TlsFixture::start().await;
    let batch = |number: u32| -> Vec<u8> {
        let streams = (0..BATCH / 2).map(|offset| (number * BATCH / 2 + offset) * 2 + 1);
        streams
            .flat_map(|stream| {
                [frames::get(stream, "/"), frames::frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
            })
            .collect()
    };
    let attack = async { flood(frames::open(&fixture).await, batch).await };
    let ((sent, code), longest) = served_during(&fixture, attack).await;
    assert!(sent < MAX_FRAMES / BATCH, "the flood was not stopped");
    assert!(matches!(code, None | Some(ENHANCE_YOUR_CALM)), "{code:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_block_without_an_end_ends_the_connection() {
    let fixture = TlsFixture::start().await;
    // Fields that are never too large by themselves: only their number is.
    let field = [0x00, 1, b'a', 1, b'b'];
    let batch = |number: u32| -> Vec<u8> {
        let first = if number == 0 {
            frames::frame(HEADERS, END_STREAM, 1, &frames::fields("/", "x"))
        } else {
            Vec::new()
        };
        let rest = (0..BATCH).flat_map(|_| frames::frame(CONTINUATION, 0, 1, &field));
        first.into_iter().chain(rest).collect()
    };
    let attack = async { flood(frames::open(&fixture).await, batch).await };
    let ((sent, code), longest) = served_during(&fixture, attack).await;
    assert!(sent < MAX_FRAMES / BATCH, "the flood was not stopped");
    assert!(matches!(code, None | Some(ENHANCE_YOUR_CALM)), "{code:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    fixture.end().await;
}

#[tokio::test]
async fn a_header_block_that_is_too_large_is_refused() {
    let fixture = TlsFixture::start().await;
    let (mut reader, mut writer) = frames::open(&fixture).await;
    let large = [&[0x00, 1, b'a', 0x7f, 0x81, 0x7f][..], &vec![b'b'; 16_384]].concat();
    writer.send(&frames::frame(HEADERS, END_STREAM, 1, &frames::fields("/", "x"))).await.unwrap();
    for (flags, part) in [(0, &large[..10_000]), (END_HEADERS, &large[10_000..])] {
        // The connection may have been closed.
        let _ = writer.send(&frames::frame(CONTINUATION, flags, 1, part)).await;
    }
    let mut is_served = false;
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_secs(2), reader.next()).await {
        is_served |= frame.kind == HEADERS && frame.payload[0] == frames::STATUS_200;
    }
    assert!(!is_served);
    fixture.end().await;
}
