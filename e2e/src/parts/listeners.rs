//! Servers in the operator's network: ports on loopback that count the connections that they get. The daemons are allowed to
//! connect to some of them, for one purpose and one organization each.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Each listener by its name, and what its entry of `--outbound-allow` allows: a purpose and perhaps an organization.
const LISTENERS: [(&str, Option<(&str, &str)>); 4] = [
    ("granted", Some(("registry", ""))),
    ("another-organization", Some(("registry", "@other-organization"))),
    ("another-purpose", Some(("forge", ""))),
    ("unlisted", None),
];
const RESPONSE: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const REQUEST_BYTES: usize = 4096;

pub(crate) struct Listeners {
    by_name: BTreeMap<&'static str, Listener>,
    _serving: JoinSet<()>,
}

struct Listener {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Listeners {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let (mut by_name, mut serving) = (BTreeMap::new(), JoinSet::new());
        for (name, _) in LISTENERS {
            let socket = TcpListener::bind("127.0.0.1:0").await?;
            let listener = Listener { address: socket.local_addr()?, connections: Arc::default() };
            let connections = Arc::clone(&listener.connections);
            by_name.insert(name, listener);
            serving.spawn(async move {
                while let Ok((connection, _)) = socket.accept().await {
                    connections.fetch_add(1, Ordering::Relaxed);
                    // A client that disconnects is not of interest: it was counted.
                    let _ = respond(connection).await;
                }
            });
        }
        Ok(Self { by_name, _serving: serving })
    }

    /// Returns the entries of `--outbound-allow`.
    pub(crate) fn entries(&self) -> String {
        let entry = |(name, granted): (&str, Option<(&str, &str)>)| {
            let (purpose, organization) = granted?;
            let port = self.by_name.get(name)?.address.port();
            Some(format!("{purpose}=127.0.0.1/32:{port}{organization}"))
        };
        LISTENERS.into_iter().filter_map(entry).collect::<Vec<_>>().join(",")
    }

    /// Returns host and port.
    pub(crate) fn host(&self, name: &str) -> Option<String> {
        self.by_name.get(name).map(|listener| listener.address.to_string())
    }

    /// Returns how many connections a listener got.
    pub(crate) fn connections(&self, name: &str) -> anyhow::Result<usize> {
        let listener = self.by_name.get(name).with_context(|| format!("no listener is called `{name}`"))?;
        Ok(listener.connections.load(Ordering::Relaxed))
    }
}

async fn respond(mut connection: TcpStream) -> std::io::Result<()> {
    let mut request = Vec::<u8>::with_capacity(REQUEST_BYTES);
    connection.read_buf(&mut request).await?;
    connection.write_all(RESPONSE).await
}
