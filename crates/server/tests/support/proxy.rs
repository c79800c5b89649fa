//! Stands between the server and PostgreSQL, and breaks the network on demand.
#![expect(dead_code, reason = "each test binary uses a part of it")]

use std::net::SocketAddr;

use sqlx::{ConnectOptions, PgPool};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Used by nobody, so that the expectation above holds in a binary that uses all the rest, too.
const UNUSED: () = ();

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Good,
    /// Every packet takes a millisecond longer.
    Slow,
    /// Nothing comes through and nobody is told; afterwards what was sent arrives after all.
    Hole,
    /// The same, but what was connected in it stays silent for ever: a firewall that forgot, a host that is gone.
    Grave,
    /// Every connection is reset, new ones too.
    Reset,
}

pub struct Proxy {
    /// Of the test's database, by way of this proxy.
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
        let (network, seen) = watch::channel(network);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, database, seen));
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
        open(&mut network).await;
        let read = tokio::select! {
            read = from.read(&mut buffer) => read.unwrap_or(0),
            _ = network.changed() => continue,
        };
        // It may have broken between the reading and the writing.
        open(&mut network).await;
        if *network.borrow() == Network::Slow {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Waits until bytes may pass, which in a grave they never do.
async fn open(network: &mut watch::Receiver<Network>) {
    let seen =
        network.wait_for(|network| matches!(network, Network::Good | Network::Slow | Network::Grave)).await;
    let buried = seen.is_ok_and(|network| *network == Network::Grave);
    if buried {
        std::future::pending::<()>().await;
    }
}
