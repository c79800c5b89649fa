//! HTTP/2 by hand: frames that no client sends.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::fixture::{TIMEOUT, TlsFixture};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const ACK: u8 = 1;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// What HPACK has for `:status 200`.
pub const STATUS_200: u8 = 0x88;

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The header fields of `GET` for a path.
pub fn fields(path: &str, authority: &str) -> Vec<u8> {
    // `:method GET` and `:scheme https` are in the static table, as are the names of the others.
    let mut block = vec![0x82, 0x87];
    for (name, value) in [(4, path), (1, authority)] {
        block.extend([name, u8::try_from(value.len()).unwrap()]);
        block.extend(value.as_bytes());
    }
    block
}

/// A complete request.
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields(path, "127.0.0.1"))
}

pub struct Reader(ReadHalf<TlsStream<TcpStream>>);
pub struct Writer(WriteHalf<TlsStream<TcpStream>>);

/// Opens a connection, without the client's preface.
pub async fn connect(fixture: &TlsFixture) -> (Reader, Writer) {
    let (reader, writer) = tokio::io::split(fixture.connect(&["h2"]).await);
    (Reader(reader), Writer(writer))
}

/// Opens a connection with the default settings.
pub async fn open(fixture: &TlsFixture) -> (Reader, Writer) {
    let (reader, mut writer) = connect(fixture).await;
    writer.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    writer.send(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    (reader, writer)
}

impl Writer {
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }
}

impl Reader {
    /// Returns the next frame, or `None` if the connection has ended.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        let read = async {
            self.0.read_exact(&mut head).await?;
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            self.0.read_exact(&mut payload).await?;
            io::Result::Ok(payload)
        };
        let payload = tokio::time::timeout(TIMEOUT, read).await.unwrap().ok()?;
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], stream, payload })
    }

    /// Returns the next frame of a kind, and fails if the connection ends before.
    pub async fn next_of(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.next().await.unwrap();
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// Reads until the connection ends. Returns the error code of the last GOAWAY frame.
    pub async fn ended(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(frame) = self.next().await {
            if frame.kind == GOAWAY {
                code = frame.payload.get(4..8).map(|code| u32::from_be_bytes(code.try_into().unwrap()));
            }
        }
        code
    }
}
