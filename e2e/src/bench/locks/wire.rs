//! A minimal HTTP/1.1 client for a load generator, on one persistent connection. It is minimal because its
//! cost is taken from the server: both share the machine.

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Wire {
    stream: TcpStream,
    received: Vec<u8>,
}

pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Wire {
    pub(crate) async fn connect(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a whole request and waits for the whole response.
    pub(crate) async fn send(&mut self, request: &[u8]) -> anyhow::Result<Response<'_>> {
        let head = self.send_and_read_head(request).await?;
        let (status, length) = parse_head(self.received.get(..head).unwrap_or_default())?;
        // The server always sends a content length, except for a stream.
        let length = length.context("the response has no content-length")?;
        while self.received.len() < head + length {
            self.read().await?;
        }
        Ok(Response { status, body: self.received.get(head..head + length).unwrap_or_default() })
    }

    /// Returns only the status. The response may be endless, so the connection cannot be reused.
    pub(crate) async fn status_of(mut self, request: &[u8]) -> anyhow::Result<u16> {
        let head = self.send_and_read_head(request).await?;
        Ok(parse_head(self.received.get(..head).unwrap_or_default())?.0)
    }

    /// Sends a request. Returns where the response's head ends.
    async fn send_and_read_head(&mut self, request: &[u8]) -> anyhow::Result<usize> {
        self.stream.write_all(request).await?;
        self.received.clear();
        loop {
            self.read().await?;
            if let Some(at) = find(&self.received, b"\r\n\r\n") {
                return Ok(at + 4);
            }
        }
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        if self.stream.read_buf(&mut self.received).await? == 0 {
            bail!("the server closed the connection");
        }
        Ok(())
    }
}

pub(crate) fn request(method: &str, host: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n");
    if !body.is_empty() {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

pub(crate) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Returns status and length of the body.
fn parse_head(head: &[u8]) -> anyhow::Result<(u16, Option<usize>)> {
    let number = |from: usize| {
        let digits = head.get(from..)?.split(|letter| !letter.is_ascii_digit()).next()?;
        std::str::from_utf8(digits).ok()?.parse::<usize>().ok()
    };
    let status = number("HTTP/1.1 ".len()).context("this is not HTTP/1.1")?;
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let length = find(head, LENGTH).and_then(|at| number(at + LENGTH.len()));
    Ok((u16::try_from(status)?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_parsed() {
        let head = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n";
        assert_eq!(parse_head(head).unwrap(), (201, Some(17)));
        let stream = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        assert_eq!(parse_head(stream).unwrap(), (200, None));
    }
}
