//! Raw HTTP connections, for requests that an HTTP client never sends.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Caller, TestServer};

const TIMEOUT: Duration = Duration::from_secs(20);

pub struct Wire(pub TcpStream);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }
}

impl Wire {
    pub async fn connect(server: &TestServer) -> Self {
        Self(TcpStream::connect(server.origin.trim_start_matches("http://")).await.unwrap())
    }

    /// Fails if the server has closed. Which write of a client fails first depends on the kernel.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.0.write_all(bytes.as_ref()).await
    }

    /// Reads until the server closes. A reset because of unread data is accepted.
    pub async fn reply(&mut self) -> Reply {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(TIMEOUT, self.0.read_to_end(&mut bytes)).await;
        assert!(read.is_ok(), "the connection was still open: {}", String::from_utf8_lossy(&bytes));
        Reply::of(&bytes)
    }

    /// Returns how long the server keeps the connection open, or `None` if longer than `within`.
    pub async fn closed(&mut self, within: Duration) -> Option<Duration> {
        let (started, mut bytes) = (Instant::now(), Vec::new());
        let read = tokio::time::timeout(within, self.0.read_to_end(&mut bytes)).await;
        read.is_ok().then(|| started.elapsed())
    }

    /// Sends a complete request without a body.
    pub async fn get(server: &TestServer, target: &str, headers: &str) -> Reply {
        let mut wire = Self::connect(server).await;
        let _ = wire
            .write(format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"))
            .await;
        wire.reply().await
    }
}

/// A POST with an incomplete body: the handler waits for the rest.
pub struct Upload {
    pub wire: Wire,
    rest: Vec<u8>,
}

impl Upload {
    pub async fn begin(server: &TestServer, caller: &Caller, path: &str, body: &Value) -> Self {
        let mut wire = Wire::connect(server).await;
        let (body, token) = (body.to_string().into_bytes(), &caller.token);
        let head = format!(
            "POST /api/v1/organizations/{}{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            caller.organization,
            body.len(),
        );
        wire.write(head).await.unwrap();
        // The server sends `100 Continue` only when the handler reads the body.
        let mut go_on = [0; 25];
        tokio::time::timeout(TIMEOUT, wire.0.read_exact(&mut go_on)).await.unwrap().unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        let (first, rest) = body.split_at(body.len() / 2);
        wire.write(first).await.unwrap();
        Self { wire, rest: rest.to_vec() }
    }

    /// Sends the rest and reads the head and body of the response.
    pub async fn finish(mut self) -> Reply {
        self.wire.write(&self.rest).await.unwrap();
        let mut bytes = Vec::new();
        let read = async {
            let mut buffer = [0; 4096];
            while !is_whole(&bytes) {
                match self.wire.0.read(&mut buffer).await {
                    Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
                    _ => break,
                }
            }
        };
        tokio::time::timeout(TIMEOUT, read).await.unwrap();
        Reply::of(&bytes)
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let reply = Reply::of(bytes);
    let length = reply.head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    length.and_then(|length| length.parse().ok()).is_some_and(|length: usize| reply.body.len() >= length)
}
