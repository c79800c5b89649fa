//! The values that a step gets by the standard input of its entrypoint, so that they are neither in the
//! container's configuration nor in any file of the container engine. The format is described in
//! `crates/entry/src/values.rs`. It holds secrets, so nothing here can be printed.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::{BackendError, Result};

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
    pub(super) async fn send(&self, input: impl AsyncWrite + Send + 'static) -> Result<StepFiles> {
        let mut files = StepFiles { input: Some(Box::pin(input)) };
        files.send(&[&self.frames[..], &frame(START, "", b"")].concat()).await?;
        Ok(files)
    }
}

/// Replaces files of a step that has started. Independent of the step's other handle, so that an entrypoint that
/// does not read can't delay anything else.
pub struct StepFiles {
    /// The entrypoint's standard input. `None` after an error, because the entrypoint may have got only a part of
    /// a frame.
    input: Option<Pin<Box<dyn AsyncWrite + Send>>>,
}

impl StepFiles {
    /// For steps that read no files.
    pub(super) fn none() -> Self {
        StepFiles { input: Some(Box::pin(tokio::io::sink())) }
    }

    /// Replaces the file of this name. If this is dropped before it returns, no file can be replaced any more.
    pub async fn replace(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.send(&frame(FILE, name, value)).await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let failed = |error| BackendError::new("the step's values could not be sent", error);
        let closed = || failed(io::Error::new(ErrorKind::BrokenPipe, "its input is closed"));
        let mut input = self.input.take().ok_or_else(closed)?;
        send(&mut input, bytes).await.map_err(failed)?;
        self.input = Some(input);
        Ok(())
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
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn values_are_framed_and_followed_by_the_start() {
        let mut values = StepValues::default();
        values.add_variable("KEY", b"ab");
        assert!(!values.has_files());
        values.add_file("F", &[0, 255]);
        assert!(values.has_files());
        let (input, mut sent) = tokio::io::duplex(1024);
        let mut files = values.send(input).await.ok().unwrap();
        files.replace("F", b"new").await.unwrap();
        drop(files);
        let mut bytes = Vec::new();
        sent.read_to_end(&mut bytes).await.unwrap();
        let expected: &[u8] = b"v\0\0\0\x03\0\0\0\x02KEYabf\0\0\0\x01\0\0\0\x02F\0\xffs\0\0\0\0\0\0\0\0\
            f\0\0\0\x01\0\0\0\x03Fnew";
        assert_eq!(bytes, expected);
    }

    #[tokio::test]
    async fn nothing_follows_a_frame_that_was_not_sent_completely() {
        let (input, mut sent) = tokio::io::duplex(32);
        let mut files = StepValues::default().send(input).await.ok().unwrap();
        let blocked = tokio::time::timeout(Duration::from_millis(50), files.replace("F", &[b'x'; 100]));
        assert!(blocked.await.is_err());
        assert!(files.replace("F", b"new").await.is_err());
        let mut bytes = Vec::new();
        sent.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes.len(), 32);
    }
}
