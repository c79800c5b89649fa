//! The values that a step gets by the standard input of its entrypoint, so that they are neither in the
//! container's configuration nor in any file of the container engine. The format is described in
//! `crates/entry/src/values.rs`. It holds secrets, so nothing here can be printed.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};

const VARIABLE: u8 = b'v';
const FILE: u8 = b'f';
const START: u8 = b's';

/// How long the entrypoint may take to read values. It reads them immediately.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The values with which a step starts.
#[derive(Default)]
pub struct StepValues {
    frames: Vec<u8>,
    has_files: bool,
}

impl StepValues {
    /// Adds a variable of the step's program. The value must not contain a NUL byte.
    pub fn add_variable(&mut self, name: &str, value: &[u8]) {
        self.frames.extend(frame(VARIABLE, name, value));
    }

    /// Adds a file, and a variable with its path.
    pub fn add_file(&mut self, name: &str, value: &[u8]) {
        self.frames.extend(frame(FILE, name, value));
        self.has_files = true;
    }

    pub(super) fn has_files(&self) -> bool {
        self.has_files
    }

    /// Sends the values. The step starts after them.
    pub(super) async fn send(&self, input: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        send(input, &[&self.frames[..], &frame(START, "", b"")].concat()).await
    }
}

/// Replaces the file of a step that has started.
pub(super) async fn send_file(
    input: Option<&mut (impl AsyncWrite + Unpin)>,
    name: &str,
    value: &[u8],
) -> io::Result<()> {
    match input {
        Some(input) => send(input, &frame(FILE, name, value)).await,
        None => Err(io::Error::other("the step was not started")),
    }
}

async fn send(input: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let write = async {
        input.write_all(bytes).await?;
        input.flush().await
    };
    let sent = tokio::time::timeout(SEND_TIMEOUT, write).await;
    sent.unwrap_or_else(|_| {
        Err(io::Error::new(ErrorKind::TimedOut, "the entrypoint does not read its input"))
    })
}

fn frame(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    // The server limits a step's values to 256 KiB, and the entrypoint rejects more than 1 MiB.
    let length = |bytes: &[u8]| (bytes.len() as u32).to_be_bytes();
    [&[kind][..], &length(name.as_bytes()), &length(value), name.as_bytes(), value].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn values_are_framed_and_followed_by_the_start() {
        let mut values = StepValues::default();
        values.add_variable("KEY", b"ab");
        assert!(!values.has_files());
        values.add_file("F", &[0, 255]);
        assert!(values.has_files());
        let mut sent = Vec::new();
        values.send(&mut sent).await.unwrap();
        let expected: &[u8] = b"v\0\0\0\x03\0\0\0\x02KEYabf\0\0\0\x01\0\0\0\x02F\0\xffs\0\0\0\0\0\0\0\0";
        assert_eq!(sent, expected);
    }
}
