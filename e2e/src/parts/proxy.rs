//! Stands between one part and another, and breaks the network between them on demand.

use std::net::SocketAddr;
use std::time::Duration;

use rand::seq::SliceRandom;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a connection that was buried stays silent after the network is well again. Then it is closed, so that
/// whoever is behind it does not run out of places for new ones.
const BURIED: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Good,
    /// Everything arrives later, by `delay` and up to `jitter` more.
    Slow {
        delay: Duration,
        jitter: Duration,
    },
    /// Nothing comes through and nobody is told; afterwards what was sent arrives after all.
    Hole,
    /// The same, but what was connected in it stays silent: a firewall that forgot, a host that is gone.
    Grave,
    /// Every connection is reset, new ones too.
    Cut,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    network: watch::Sender<Network>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    /// Carries each connection to one of `servers`.
    pub(crate) async fn start(servers: Vec<SocketAddr>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (network, seen) = watch::channel(Network::Good);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, servers, seen));
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
                connections.spawn(carry(client, servers.clone(), network.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn carry(mut client: TcpStream, servers: Vec<SocketAddr>, mut network: watch::Receiver<Network>) {
    if *network.borrow() == Network::Cut {
        let _ = client.set_zero_linger();
        return;
    }
    // A server that is down closes the door; so does its proxy.
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

/// To one of them, whichever comes first in an order by chance and listens.
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
        if !opens(&mut network).await {
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
        // It may have broken between the reading and the writing.
        if !opens(&mut network).await || read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Waits until bytes may pass. In a grave they never do.
async fn opens(network: &mut watch::Receiver<Network>) -> bool {
    let closed = |network: &Network| matches!(network, Network::Hole | Network::Cut);
    let Ok(seen) = network.wait_for(|network| !closed(network)).await.map(|network| *network) else {
        return false;
    };
    if seen != Network::Grave {
        return true;
    }
    let _ = network.wait_for(|network| *network != Network::Grave).await;
    tokio::time::sleep(BURIED).await;
    false
}
