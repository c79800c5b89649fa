//! A connection with a write timeout: a client that reads nothing for a while is disconnected. Without this,
//! a client that stops reading keeps its connection, and all resources of its response, indefinitely.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

pub struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Set while a write is pending. Each successful write resets it.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub const fn new(stream: S, timeout: Duration) -> Self {
        Self { stream, timeout, deadline: None }
    }

    /// Returns the outcome of a write, or an error if it has been pending for too long.
    fn with_deadline<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.deadline = None;
            return outcome;
        }
        let timeout = self.timeout;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        deadline.as_mut().poll(context).map(|()| {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the client has not read its response for too long"))
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.with_deadline(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.with_deadline(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.with_deadline(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.with_deadline(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_client_that_reads_nothing_times_out() {
        let (server, _client) = tokio::io::duplex(16);
        let mut server = WriteTimeout::new(server, TIMEOUT);
        let started = Instant::now();
        let error = server.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= TIMEOUT);
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_does_not_time_out() {
        let (server, mut client) = tokio::io::duplex(16);
        let mut server = WriteTimeout::new(server, TIMEOUT);
        let slow = async {
            let mut read = [0; 16];
            for _ in 0..8 {
                tokio::time::sleep(TIMEOUT / 3).await;
                client.read_exact(&mut read).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(server.write_all(&[0; 128]), slow);
        written.unwrap();
    }
}
