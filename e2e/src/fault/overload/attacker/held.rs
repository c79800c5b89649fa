//! Attacks by connections that are held open, each on a plain TCP stream, which costs the attacker almost
//! nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::fault::overload::attack::Attack;
use crate::fault::overload::attacker::SOURCE;
use crate::fault::overload::attacker::live::Live;
use crate::fault::overload::attacker::payload::Payloads;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE_AFTER_CONNECT_ERROR: Duration = Duration::from_secs(1);
/// A stream that was served and has ended is opened again after this time.
const PAUSE_AFTER_END: Duration = Duration::from_millis(500);
/// A slow body sends one byte per interval.
const DRIP_INTERVAL: Duration = Duration::from_secs(3);
/// How often an unread connection is checked for a reset.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Small, so that unread bytes stay on the server's side.
const UNREAD_BUFFER_BYTES: u32 = 4 * 1024;
const RESPONSE_BYTES: usize = 512;
const REQUEST_TIMEOUT: u16 = 408;

enum Outcome {
    /// The server responded with an error or closed the connection.
    Refused,
    /// The server served it to its end.
    Served,
    NotConnected,
}

struct Slot {
    attack: Attack,
    number: usize,
    payloads: Arc<Payloads>,
    live: Arc<Live>,
}

pub(super) fn spawn(
    tasks: &mut JoinSet<()>,
    attack: Attack,
    (size, ramp_up_time): (usize, Duration),
    (payloads, live): (&Arc<Payloads>, &Arc<Live>),
) {
    for number in 0..size {
        let slot = Slot { attack, number, payloads: Arc::clone(payloads), live: Arc::clone(live) };
        let delay = ramp_up_time.mul_f64(number as f64 / size as f64);
        tasks.spawn(async move {
            tokio::time::sleep(delay).await;
            slot.run().await;
        });
    }
}

impl Slot {
    /// Runs until the attacker ends.
    async fn run(&self) {
        loop {
            match self.attempt().await {
                Outcome::Refused => {
                    let _refused = self.live.refused.enter();
                    tokio::time::sleep(self.attack.pause_after_refusal()).await;
                }
                // It reconnects immediately, as a runner's next poll does. A stream that ends immediately
                // must not spin.
                Outcome::Served if self.attack.is_stream() => {
                    tokio::time::sleep(PAUSE_AFTER_END).await;
                }
                Outcome::Served => {}
                Outcome::NotConnected => tokio::time::sleep(PAUSE_AFTER_CONNECT_ERROR).await,
            }
        }
    }

    async fn attempt(&self) -> Outcome {
        self.live.attempts.add_one();
        let connecting = connect(self.payloads.address, self.attack == Attack::UnreadDownloads);
        let counted = self.live.connecting.enter();
        let Ok(Ok(mut stream)) = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await else {
            self.live.failed.add_one();
            return Outcome::NotConnected;
        };
        let _open = self.live.open.enter();
        drop(counted);
        let Some(status) = self.status(&mut stream).await else {
            self.live.closed.add_one();
            return Outcome::Refused;
        };
        self.live.count_response(status);
        if status == REQUEST_TIMEOUT {
            // The server has waited for the body: the connection did what it was opened for.
            return Outcome::Served;
        }
        if !(200..300).contains(&status) {
            return Outcome::Refused;
        }
        match self.attack {
            attack if attack.is_stream() => read_to_the_end(&mut stream).await,
            Attack::UnreadDownloads => until_reset(&stream).await,
            _ => {}
        }
        Outcome::Served
    }

    /// Sends the request and waits for the status. `None` if the server closes the connection before.
    async fn status(&self, stream: &mut TcpStream) -> Option<u16> {
        stream.write_all(&self.payloads.held(self.attack, self.number)).await.ok()?;
        let drips = matches!(self.attack, Attack::SlowBodies | Attack::SlowUploads);
        let mut response = Vec::with_capacity(RESPONSE_BYTES);
        loop {
            tokio::select! {
                read = stream.read_buf(&mut response) => {
                    if read.ok()? == 0 {
                        return None;
                    }
                    if let Some(status) = status_in(&response) {
                        return Some(status);
                    }
                }
                // White space is part of the JSON and of the log alike.
                () = tokio::time::sleep(DRIP_INTERVAL), if drips => stream.write_all(b" ").await.ok()?,
            }
        }
    }
}

async fn connect(address: SocketAddr, unread: bool) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if unread {
        socket.set_recv_buffer_size(UNREAD_BUFFER_BYTES)?;
    }
    // There are more attempts than ports: those in TIME_WAIT are used again.
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((SOURCE, 0)))?;
    socket.connect(address).await
}

/// Returns the status of an HTTP/1.1 response, once enough of its first line has arrived.
fn status_in(response: &[u8]) -> Option<u16> {
    let digits = response.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

async fn read_to_the_end(stream: &mut TcpStream) {
    let mut buffer = [0; RESPONSE_BYTES];
    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}

/// Without reading, only a reset shows that the server has closed the connection.
async fn until_reset(stream: &TcpStream) {
    while matches!(stream.take_error(), Ok(None)) {
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_from_the_first_line() {
        assert_eq!(status_in(b"HTTP/1.1 429 Too Many Requests\r\n"), Some(429));
        assert_eq!(status_in(b"HTTP/1.1 42"), None);
        assert_eq!(status_in(b"SSH-2.0-OpenSSH"), None);
    }
}
