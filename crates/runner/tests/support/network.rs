//! An unreliable network between runner and server, which delays and cuts connections pseudo-randomly by a
//! seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub struct UnreliableNetwork {
    pub port: u16,
    pub cuts: Arc<AtomicU32>,
    _proxy: JoinSet<()>,
}

impl UnreliableNetwork {
    /// Each connection is cut somewhere within this many bytes, in either direction.
    pub async fn before(server: u16, cut_within: u64, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let cuts = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&cuts);
        let mut proxy = JoinSet::new();
        proxy.spawn(async move {
            let mut random = StdRng::seed_from_u64(seed);
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let own = StdRng::seed_from_u64(random.next_u64());
                connections.spawn(carry(client, server, cut_within, own, Arc::clone(&counter)));
            }
        });
        UnreliableNetwork { port, cuts, _proxy: proxy }
    }
}

async fn carry(client: TcpStream, server: u16, cut_within: u64, mut random: StdRng, cuts: Arc<AtomicU32>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let there = copy(client_read, server_write, random.random_range(0..cut_within), random.next_u64());
    // Answers are short: sometimes one is cut in its midst, or before it.
    let back = copy(server_read, client_write, random.random_range(0..cut_within / 64), random.next_u64());
    tokio::select! {
        cut = there => cuts.fetch_add(u32::from(cut), Ordering::Relaxed),
        cut = back => cuts.fetch_add(u32::from(cut), Ordering::Relaxed),
    };
}

/// Whether it was cut before its end.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut left: u64, seed: u64) -> bool {
    let mut random = StdRng::seed_from_u64(seed);
    let mut bytes = vec![0; 32 * 1024];
    loop {
        let Ok(count) = from.read(&mut bytes).await else { return false };
        if count == 0 {
            return false;
        }
        if random.random_ratio(1, 20) {
            tokio::time::sleep(Duration::from_millis(random.random_range(0..30))).await;
        }
        let passed = count.min(usize::try_from(left).unwrap());
        if to.write_all(&bytes[..passed]).await.is_err() {
            return false;
        }
        left -= passed as u64;
        if left == 0 {
            return true;
        }
    }
}
