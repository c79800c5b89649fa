//! The write timeout of a connection.

use std::io;
use std::time::{Duration, Instant};

use greenroom_server::internals::WriteTimeout;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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
