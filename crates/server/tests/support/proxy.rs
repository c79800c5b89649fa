//! A proxy between the server and PostgreSQL that simulates network faults.
#![expect(dead_code, reason = "each test binary uses a part of it")]

use std::net::SocketAddr;

use sqlx::{ConnectOptions, PgPool};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Never used, so that the expectation above also holds in a binary that uses everything else.
const UNUSED: () = ();

/// The simulated state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Good,
    /// Every packet is delayed by a millisecond.
    Slow,
    /// Nothing is delivered and no error is reported. What was sent arrives when the state changes.
    Stalled,
    /// Like `Stalled`, but connections that exist in this state stay silent forever: a firewall that dropped
    /// its state, a host that is gone.
    Blackhole,
    /// Every connection is reset, including new ones.
    Reset,
}

pub struct Proxy {
    /// The address of the test's database through this proxy.
    pub database_url: String,
    network: watch::Sender<Network>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    pub async fn start(pool: &PgPool, network: Network) -> Self {
        let options = pool.connect_options();
        let database =
            tokio::net::lookup_host((options.get_host(), options.get_port())).await.unwrap().next().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut url = options.to_url_lossy();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let (network, state) = watch::channel(network);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, database, state));
        Self { database_url: url.into(), network, _accepting: accepting }
    }

    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

async fn accept(listener: TcpListener, database: SocketAddr, network: watch::Receiver<Network>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                connections.spawn(carry(client, database, network.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn carry(mut client: TcpStream, database: SocketAddr, mut network: watch::Receiver<Network>) {
    if *network.borrow() == Network::Reset {
        let _ = client.set_zero_linger();
        return;
    }
    let mut server = TcpStream::connect(database).await.unwrap();
    let ((client_in, client_out), (server_in, server_out)) = (client.split(), server.split());
    tokio::select! {
        () = pump(client_in, server_out, network.clone()) => {}
        () = pump(server_in, client_out, network.clone()) => {}
        _ = network.wait_for(|network| *network == Network::Reset) => {}
    }
    if *network.borrow() == Network::Reset {
        let _ = (client.set_zero_linger(), server.set_zero_linger());
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut network: watch::Receiver<Network>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        wait_until_open(&mut network).await;
        let read = tokio::select! {
            read = from.read(&mut buffer) => read.unwrap_or(0),
            _ = network.changed() => continue,
        };
        // The state may have changed between reading and writing.
        wait_until_open(&mut network).await;
        if *network.borrow() == Network::Slow {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Waits until bytes may pass. In a blackhole that is never.
async fn wait_until_open(network: &mut watch::Receiver<Network>) {
    let state = network
        .wait_for(|network| matches!(network, Network::Good | Network::Slow | Network::Blackhole))
        .await;
    let is_blackhole = state.is_ok_and(|network| *network == Network::Blackhole);
    if is_blackhole {
        std::future::pending::<()>().await;
    }
}
