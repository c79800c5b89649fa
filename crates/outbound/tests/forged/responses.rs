//! Servers that are allowed, and send hostile responses.

use std::time::Duration;

use greenroom_outbound::{Bounds, OutboundError};
use http::Request;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::server::{Server, greet, read_request};
use crate::{client, get, requester};

/// A body of unknown length.
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const CHUNK_BYTES: usize = 4096;
const DRIP_INTERVAL: Duration = Duration::from_millis(50);

async fn send(mut stream: TcpStream, response: &[u8]) {
    read_request(&mut stream).await;
    let _ = stream.write_all(response).await;
}

/// Repeats `piece` until the client disconnects.
async fn repeat(mut stream: TcpStream, start: &[u8], piece: &[u8], interval: Duration) {
    read_request(&mut stream).await;
    let mut sent = stream.write_all(start).await;
    while sent.is_ok() {
        sent = stream.write_all(piece).await;
        tokio::time::sleep(interval).await;
    }
}

async fn failure<F>(respond: fn(TcpStream) -> F) -> OutboundError
where
    F: Future<Output = ()> + Send + 'static,
{
    let server = Server::start("127.0.0.1:0", respond).await;
    let result = get(&client("127.0.0.0/8"), &format!("http://{}/", server.address)).await;
    assert_eq!(server.connections(), 1);
    result.unwrap_err()
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in ["301", "302", "303", "307", "308", "300"] {
        let target = Server::start("127.0.0.1:0", greet).await;
        // Each server sends the redirect that its request names in the path.
        let server = Server::start("127.0.0.1:0", |mut stream| async move {
            let mut buffer = [0; 1024];
            let count = tokio::io::AsyncReadExt::read(&mut stream, &mut buffer).await.unwrap();
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let mut path = text.split(' ').nth(1).unwrap().trim_start_matches('/').split('/');
            let (status, port) = (path.next().unwrap(), path.next().unwrap());
            let response = format!(
                "HTTP/1.1 {status} Moved\r\nlocation: http://127.0.0.1:{port}/\r\ncontent-length: 0\r\n\r\n"
            );
            let _ = stream.write_all(response.as_bytes()).await;
        })
        .await;
        let address = format!("http://{}/{status}/{}", server.address, target.port());
        let result = get(&client("127.0.0.0/8"), &address).await;
        assert!(matches!(result, Err(OutboundError::Redirect(_))), "{status}: {result:?}");
        assert_eq!(target.connections(), 0);
    }
}

#[tokio::test]
async fn a_server_that_sends_nothing_times_out() {
    let error = failure(|stream| async move { repeat(stream, b"", b"", DRIP_INTERVAL).await }).await;
    assert!(matches!(error, OutboundError::Timeout(_)), "{error:?}");
}

#[tokio::test]
async fn dripping_headers_time_out() {
    let error = failure(|stream| async move {
        repeat(stream, b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", DRIP_INTERVAL).await;
    });
    let error = error.await;
    assert!(matches!(error, OutboundError::Timeout(_)), "{error:?}");
}

#[tokio::test]
async fn a_dripping_body_times_out() {
    let error =
        failure(|stream| async move { repeat(stream, CHUNKED, b"1\r\na\r\n", DRIP_INTERVAL).await }).await;
    assert!(matches!(error, OutboundError::Timeout(_)), "{error:?}");
}

#[tokio::test]
async fn an_endless_body_ends_with_an_error() {
    let error = failure(|stream| async move {
        let chunk =
            [format!("{CHUNK_BYTES:x}\r\n").into_bytes(), vec![b'a'; CHUNK_BYTES], b"\r\n".to_vec()].concat();
        repeat(stream, CHUNKED, &chunk, Duration::ZERO).await;
    })
    .await;
    assert!(matches!(error, OutboundError::TooLarge(65_536)), "{error:?}");
}

#[tokio::test]
async fn a_long_body_ends_with_an_error() {
    let error = failure(|stream| async move {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
        repeat(stream, head, &[b'a'; CHUNK_BYTES], Duration::ZERO).await;
    })
    .await;
    assert!(matches!(error, OutboundError::TooLarge(65_536)), "{error:?}");
}

#[tokio::test]
async fn endless_headers_end_with_an_error() {
    // One header that never ends, and headers without end.
    let one = failure(|stream| async move {
        repeat(stream, b"HTTP/1.1 200 OK\r\na: ", &[b'a'; CHUNK_BYTES], Duration::ZERO).await;
    });
    let many = failure(|stream| async move {
        repeat(stream, b"HTTP/1.1 200 OK\r\n", "a: b\r\n".repeat(500).as_bytes(), Duration::ZERO).await;
    });
    for error in [one.await, many.await] {
        assert!(matches!(error, OutboundError::Http(_)), "{error:?}");
    }
}

#[tokio::test]
async fn endless_interim_responses_time_out() {
    let error = failure(|stream| async move {
        repeat(stream, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", DRIP_INTERVAL).await;
    })
    .await;
    assert!(matches!(error, OutboundError::Timeout(_)), "{error:?}");
}

#[tokio::test]
async fn what_is_not_http_is_rejected() {
    let garbage = failure(|stream| async move { send(stream, b"220 mail.example ESMTP\r\n").await }).await;
    let nothing = failure(|stream| async move { send(stream, b"").await }).await;
    let two_lengths = failure(|stream| async move {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab").await;
    });
    let half = failure(|stream| async move {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
    });
    for error in [garbage, nothing, two_lengths.await, half.await] {
        assert!(matches!(error, OutboundError::Http(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_compressed_response_is_not_unpacked() {
    // 5 bytes that claim to be compressed.
    let server = Server::start("127.0.0.1:0", |stream| async move {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello").await;
    })
    .await;
    let response = get(&client("127.0.0.0/8"), &format!("http://{}/", server.address)).await.unwrap();
    assert_eq!(response.body(), b"hello");
}

#[tokio::test]
async fn a_use_can_state_another_bound() {
    let server = Server::start("127.0.0.1:0", greet).await;
    for (max_response_bytes, is_complete) in [(5, true), (4, false)] {
        let request = Request::get(format!("http://{}/", server.address)).body(Vec::new()).unwrap();
        let bounds = Bounds { max_response_bytes, ..Bounds::default() };
        let result = client("127.0.0.0/8").send(&requester(), request, bounds).await;
        assert_eq!(result.is_ok(), is_complete, "{result:?}");
    }
}
