//! A server on a loopback address that sends whatever a test wants.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

pub struct Server {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    /// Starts a server that calls `respond` with each connection.
    pub async fn start<F>(address: &str, respond: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let (address, connections) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&connections);
        let serving = async move {
            let mut responses = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                responses.spawn(respond(stream));
            }
        };
        #[expect(clippy::disallowed_methods, reason = "aborted when the server is dropped")]
        let task = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { address, connections, _task: task }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Responds correctly.
pub async fn greet(mut stream: TcpStream) {
    read_request(&mut stream).await;
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-kept: yes\r\n\r\nhello").await;
}

/// Reads the request up to the end of its headers.
pub async fn read_request(stream: &mut TcpStream) {
    let (mut received, mut buffer) = (Vec::new(), [0; 1024]);
    while !received.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(count) if count > 0 => received.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
}
