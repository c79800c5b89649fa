//! Registries whose address is the attack: they would have the reader connect to itself, to its network, or to the metadata
//! service of its cloud. The reader may connect to 127.0.0.1 only.

use std::path::Path;

use crate::hostile_server::{HostileServer, OBJECT, Reply, capabilities, packets, result};
use crate::{HostileRegistry, SeenIn, Served};

/// A loopback address that the reader may not connect to.
const OTHER_LOOPBACK: &str = "127.0.0.2";
const METADATA: &str = "169.254.169.254";

/// Sets what a name resolves to.
fn set_host(hosts: &Path, address: &str, name: &str) {
    let text = format!("127.0.0.1 localhost\n{address} {name}\n");
    let text = if name == "localhost" { format!("{address} {name}\n") } else { text };
    std::fs::write(hosts, text).unwrap();
}

async fn trap() -> HostileServer {
    HostileServer::start_on(&format!("{OTHER_LOOPBACK}:0"), |_, _| capabilities()).await
}

fn url(name: &'static str, reason: &'static str, url: &'static str) -> HostileRegistry {
    HostileRegistry::new(name, reason, move || async move { Served::new(url, ()) })
}

/// A name that resolves to this address.
fn name(name: &'static str, address: &'static str) -> HostileRegistry {
    HostileRegistry::with_hosts(name, "may not be connected to", move |hosts| async move {
        let trap = trap().await;
        set_host(&hosts, address, "registry.test");
        Served::new(&format!("https://registry.test:{}/steps.git", trap.port), ()).trap(trap)
    })
}

/// A name that resolves to an allowed address until the tags are listed, and to another one from then on.
fn rebinding(name: &'static str, address: &'static str) -> HostileRegistry {
    HostileRegistry::with_hosts(name, address, move |hosts| async move {
        set_host(&hosts, "127.0.0.1", "localhost");
        let tags = format!("{OBJECT} refs/tags/roll-out/v1.0.0\n");
        let server = HostileServer::start(move |line, _| {
            set_host(&hosts, address, "localhost");
            match line.starts_with("GET") {
                true => capabilities(),
                false => result(&packets(&[&tags])),
            }
        })
        .await;
        let same_port = format!("{OTHER_LOOPBACK}:{}", server.port);
        let trap = HostileServer::start_on(&same_port, |_, _| capabilities()).await;
        let url = format!("http://localhost:{}/steps.git", server.port);
        Served::new(&url, server).trap(trap)
    })
}

fn redirect_to(location: &str) -> Reply {
    let head = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    Reply::Raw(head.into_bytes())
}

async fn redirect_to_loopback() -> Served {
    let trap = trap().await;
    let port = trap.port;
    let location = format!("http://{OTHER_LOOPBACK}:{port}/x/info/refs?service=git-upload-pack");
    Served::server(HostileServer::start(move |_, _| redirect_to(&location)).await).trap(trap)
}

async fn redirect_to_metadata() -> Served {
    let location = format!("http://{METADATA}/latest/meta-data/");
    Served::server(HostileServer::start(move |_, _| redirect_to(&location)).await)
}

async fn without_tls() -> Served {
    let server = HostileServer::start(|_, _| capabilities()).await;
    let url = format!("https://127.0.0.1:{}/steps.git", server.port);
    Served::new(&url, server)
}

pub fn all() -> Vec<HostileRegistry> {
    let (refused, redirect) = ("may not be connected to", "a redirect, which is not followed");
    let not_https = "must be the https address";
    vec![
        url("loopback-address", refused, "https://127.0.0.2/steps.git"),
        url("loopback-spelled-otherwise", refused, "https://0x7f.2/steps.git"),
        url("metadata-address", refused, "https://169.254.169.254/steps.git"),
        url("mapped-address", refused, "https://[::ffff:169.254.169.254]/steps.git"),
        name("loopback-name", OTHER_LOOPBACK),
        name("metadata-name", METADATA),
        name("private-name", "10.0.0.1"),
        rebinding("rebinding-to-loopback", OTHER_LOOPBACK).in_ci(),
        rebinding("rebinding-to-metadata", METADATA),
        HostileRegistry::new("redirect-to-loopback", redirect, redirect_to_loopback),
        HostileRegistry::new("redirect-to-metadata", redirect, redirect_to_metadata).in_ci(),
        HostileRegistry::new("no-tls", "certificate", without_tls),
        url("plain-http", not_https, "http://git.example/steps.git").seen_in(SeenIn::Creation),
        url("local-file", not_https, "file:///etc/passwd").seen_in(SeenIn::Creation),
        url("other-program", not_https, "ext::sh").seen_in(SeenIn::Creation),
        url("user-name", "must not contain a user name", "https://127.0.0.1:80@git.example/x")
            .seen_in(SeenIn::Creation),
    ]
}
