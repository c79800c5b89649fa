//! A proxy between two parts that breaks the network between them on demand.

use std::net::SocketAddr;
use std::time::Duration;

use rand::seq::SliceRandom;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a dropped connection stays silent after the network has recovered. Then it is closed, so that its
/// client does not run out of connections.
const DROPPED_CONNECTION_LIFETIME: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Good,
    /// Everything arrives later, by `delay` and up to `jitter` more.
    Slow {
        delay: Duration,
        jitter: Duration,
    },
    /// Nothing is delivered and no error is reported. Afterwards everything that was sent is delivered.
    Stalled,
    /// The same, but existing connections stay silent afterwards, as behind a firewall that lost its state or
    /// a host that is gone.
    Dropped,
    /// Every connection is reset, new ones too.
    Cut,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    network: watch::Sender<Network>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    /// Forwards each connection to one of `servers`.
    pub(crate) async fn start(servers: Vec<SocketAddr>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (network, state) = watch::channel(Network::Good);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, servers, state));
        Ok(Self { port, network, _accepting: accepting })
    }

    pub(crate) fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

async fn accept(listener: TcpListener, servers: Vec<SocketAddr>, network: watch::Receiver<Network>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                connections.spawn(forward(client, servers.clone(), network.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn forward(mut client: TcpStream, servers: Vec<SocketAddr>, mut network: watch::Receiver<Network>) {
    if *network.borrow() == Network::Cut {
        let _ = client.set_zero_linger();
        return;
    }
    // If the server is down, the connection is closed, as the server's host would.
    let Some(mut server) = connect(servers).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((client_in, client_out), (server_in, server_out)) = (client.split(), server.split());
    tokio::select! {
        () = pump(client_in, server_out, network.clone()) => {}
        () = pump(server_in, client_out, network.clone()) => {}
        _ = network.wait_for(|network| *network == Network::Cut) => {}
    }
    if *network.borrow() == Network::Cut {
        let _ = (client.set_zero_linger(), server.set_zero_linger());
    }
}

/// Connects to the first server in a random order that accepts the connection.
async fn connect(mut servers: Vec<SocketAddr>) -> Option<TcpStream> {
    servers.shuffle(&mut rand::rng());
    for server in servers {
        if let Ok(connected) = TcpStream::connect(server).await {
            return Some(connected);
        }
    }
    None
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut network: watch::Receiver<Network>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        if !wait_until_open(&mut network).await {
            return;
        }
        let read = tokio::select! {
            read = from.read(&mut buffer) => read.unwrap_or(0),
            _ = network.changed() => continue,
        };
        let now = *network.borrow();
        if let Network::Slow { delay, jitter } = now {
            tokio::time::sleep(delay + jitter.mul_f64(rand::random::<f64>())).await;
        }
        // The network may have broken between the read and the write.
        if !wait_until_open(&mut network).await || read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Waits until bytes may pass. On a dropped connection they never do.
async fn wait_until_open(network: &mut watch::Receiver<Network>) -> bool {
    let closed = |network: &Network| matches!(network, Network::Stalled | Network::Cut);
    let Ok(state) = network.wait_for(|network| !closed(network)).await.map(|network| *network) else {
        return false;
    };
    if state != Network::Dropped {
        return true;
    }
    let _ = network.wait_for(|network| *network != Network::Dropped).await;
    tokio::time::sleep(DROPPED_CONNECTION_LIFETIME).await;
    false
}
