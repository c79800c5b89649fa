//! A server that sends what it wants, instead of what git's protocol demands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The object that this server states for the tag `roll-out/v1.0.0`.
pub const OBJECT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const ADVERTISEMENT: &str = "application/x-git-upload-pack-advertisement";
const RESULT: &str = "application/x-git-upload-pack-result";

/// The first byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;

/// What a server does with a request.
pub enum Reply {
    /// A complete response, with its head.
    Raw(Vec<u8>),
    /// A response, and this piece again and again after it.
    Endless {
        start: Vec<u8>,
        piece: Vec<u8>,
        pause: Duration,
    },
    Silence,
}

/// The request line, and the body.
pub type Respond = dyn Fn(&str, &str) -> Reply + Send + Sync;

pub struct HostileServer {
    pub port: u16,
    pub url: String,
    connections: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

impl HostileServer {
    pub async fn start(respond: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_on("127.0.0.1:0", respond).await
    }

    pub async fn start_on(
        address: &str,
        respond: impl Fn(&str, &str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let respond: Arc<Respond> = Arc::new(respond);
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&connections);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                open.spawn(serve(stream, Arc::clone(&respond)));
            }
        });
        Self { port, url: format!("http://127.0.0.1:{port}/steps.git"), connections, _serving: serving }
    }

    /// Starts a server that is correct until a client requests objects.
    pub async fn start_with_objects(objects: impl Fn() -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with_tag(OBJECT, objects).await
    }

    /// Starts such a server, whose tag `roll-out/v1.0.0` refers to this object.
    pub async fn start_with_tag(object: &str, objects: impl Fn() -> Reply + Send + Sync + 'static) -> Self {
        let tags = packets(&[&format!("{object} refs/tags/roll-out/v1.0.0\n")]);
        Self::start(move |line, body| match line {
            _ if line.starts_with("GET") => capabilities(),
            _ if body.contains("command=ls-refs") => response(RESULT, &tags),
            _ => objects(),
        })
        .await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

pub fn capabilities() -> Reply {
    response(
        ADVERTISEMENT,
        &packets(&["version 2\n", "ls-refs\n", "fetch=shallow\n", "object-format=sha1\n"]),
    )
}

/// The beginning of a response with an endless body.
pub fn head(status: &str, content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n").into_bytes()
}

pub fn advertisement_head() -> Vec<u8> {
    head("200 OK", ADVERTISEMENT)
}

pub fn result_head() -> Vec<u8> {
    head("200 OK", RESULT)
}

pub fn response(content_type: &str, body: &[u8]) -> Reply {
    Reply::Raw([&head("200 OK", content_type)[..], body].concat())
}

pub fn result(body: &[u8]) -> Reply {
    response(RESULT, body)
}

/// A line of git's protocol.
pub fn packet(bytes: &[u8]) -> Vec<u8> {
    [format!("{:04x}", bytes.len() + 4).as_bytes(), bytes].concat()
}

pub fn packets(lines: &[&str]) -> Vec<u8> {
    let mut all: Vec<u8> = lines.iter().flat_map(|line| packet(line.as_bytes())).collect();
    all.extend(b"0000");
    all
}

/// A response with this pack.
pub fn pack_response(pack: &[u8]) -> Vec<u8> {
    let mut all = packet(b"packfile\n");
    for piece in pack.chunks(60_000) {
        all.extend(packet(&[&[1], piece].concat()));
    }
    all.extend(b"0000");
    all
}

async fn serve(mut stream: TcpStream, respond: Arc<Respond>) {
    let Some((line, body)) = read_request(&mut stream).await else { return };
    match respond(&line, &body) {
        Reply::Raw(bytes) => drop(stream.write_all(&bytes).await),
        Reply::Endless { start, piece, pause } => {
            if stream.write_all(&start).await.is_err() {
                return;
            }
            while stream.write_all(&piece).await.is_ok() {
                tokio::time::sleep(pause).await;
            }
        }
        Reply::Silence => std::future::pending().await,
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        read.extend_from_slice(&chunk[..count]);
        if read[0] == TLS_HANDSHAKE {
            return Some((String::new(), String::new()));
        }
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        if body.len() >= length {
            return Some((head.lines().next()?.to_owned(), body.to_owned()));
        }
    }
}
