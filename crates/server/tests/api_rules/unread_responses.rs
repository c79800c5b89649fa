//! A client that does not read its response is disconnected, and the resources of the response are released.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use greenroom_server::serve::{Connections, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::eventually;

const TIMEOUT: Duration = Duration::from_secs(1);

/// Starts a server with endless responses, each of which holds the guard while it is open.
async fn endless(guard: &Arc<()>, stop: &CancellationToken, tasks: &TaskTracker) -> std::net::SocketAddr {
    let guard = Arc::clone(guard);
    let endless = get(async move || {
        let chunk = Bytes::from(vec![0; 64 * 1024]);
        Body::from_stream(stream::unfold(Arc::clone(&guard), move |guard| {
            let chunk = chunk.clone();
            async move { Some((Ok::<_, std::io::Error>(chunk), guard)) }
        }))
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = serve(
        listener,
        Router::new().route("/", endless),
        Connections::default().with_write_timeout(TIMEOUT),
        stop.clone(),
    );
    tasks.spawn(serving);
    address
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected() {
    let (guard, stop, tasks) = (Arc::new(()), CancellationToken::new(), TaskTracker::new());
    let address = endless(&guard, &stop, &tasks).await;
    let idle = Arc::strong_count(&guard);
    let mut unread = Vec::new();
    for _ in 0..20 {
        let mut wire = TcpStream::connect(address).await.unwrap();
        wire.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        unread.push(wire);
    }
    let mut reading = TcpStream::connect(address).await.unwrap();
    reading.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let open = || async { Arc::strong_count(&guard) == idle + 21 };
    assert!(eventually(Duration::from_secs(5), open).await, "the responses have not begun");
    // One client continues to read; the others are disconnected.
    let mut buffer = vec![0; 256 * 1024];
    let given_up = async {
        while Arc::strong_count(&guard) > idle + 1 {
            assert!(reading.read(&mut buffer).await.unwrap() > 0, "a client that reads is served");
        }
    };
    tokio::time::timeout(Duration::from_secs(20), given_up).await.unwrap();
    assert_eq!(Arc::strong_count(&guard), idle + 1);
    drop((reading, unread));
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}
