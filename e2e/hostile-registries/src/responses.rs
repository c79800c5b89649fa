//! Servers that hold the reader up, or fill its memory, and what is not git.

use std::time::Duration;

use crate::hostile_server::{
    HostileServer, OBJECT, Reply, advertisement_head, capabilities, head, packet, response, result,
};
use crate::{HostileRegistry, Served};

/// A server that responds to every request in the same way.
fn always(
    name: &'static str,
    reason: &'static str,
    reply: impl Fn() -> Reply + Clone + Send + Sync + 'static,
) -> HostileRegistry {
    HostileRegistry::new(name, reason, move || {
        let reply = reply.clone();
        async move { Served::server(HostileServer::start(move |_, _| reply()).await) }
    })
}

fn endless(start: Vec<u8>, piece: &[u8], pause: Duration) -> Reply {
    Reply::Endless { start, piece: piece.to_vec(), pause }
}

fn endless_tags() -> Reply {
    let line = packet(format!("{OBJECT} refs/tags/roll-out/v1.0.0\n").as_bytes()).repeat(1000);
    endless(advertisement_head(), &line, Duration::ZERO)
}

fn endless_headers() -> Reply {
    endless(b"HTTP/1.1 200 OK\r\n".to_vec(), &b"x-more: and more\r\n".repeat(1000), Duration::ZERO)
}

async fn million_refs() -> Served {
    let mut refs = Vec::new();
    for number in 0..1_000_000 {
        refs.extend(packet(format!("{OBJECT} refs/tags/roll-out/v1.0.{number}\n").as_bytes()));
    }
    refs.extend(b"0000");
    let server = HostileServer::start(move |line, _| match line.starts_with("GET") {
        true => capabilities(),
        false => result(&refs),
    });
    Served::server(server.await)
}

/// The first HTTP protocol has only files, and would let the server name other servers.
async fn first_http_protocol() -> Served {
    let refs = format!("{OBJECT}\trefs/tags/roll-out/v1.0.0\n");
    let server = HostileServer::start(move |line, _| match line.contains("/info/refs") {
        true => response("text/plain", refs.as_bytes()),
        false => Reply::Raw(head("404 Not Found", "text/plain")),
    });
    Served::server(server.await)
}

/// Sends fast enough not to be too slow, and never ends.
pub fn steady_drip() -> HostileRegistry {
    always("steady-drip", "took longer than", || {
        endless(advertisement_head(), &[b'0'; 4000], Duration::from_millis(100))
    })
}

pub fn all() -> Vec<HostileRegistry> {
    let (too_slow, not_git) = ("less than 1,000 bytes a second", "does not respond as a git server");
    vec![
        always("one-byte-a-second", too_slow, || endless(advertisement_head(), b"0", Duration::from_secs(1))),
        always("silence", too_slow, || Reply::Silence),
        always("endless-tags", "more than 20000 tags", endless_tags),
        always("endless-headers", not_git, endless_headers),
        HostileRegistry::new("million-refs", "more than 20000 tags", million_refs).in_ci(),
        always("web-page", not_git, || response("text/html", b"<html>hunter2</html>")),
        always("damaged-advertisement", not_git, || {
            response("application/x-git-upload-pack-advertisement", b"zzzz")
        }),
        always("server-error", "HTTP status 503", || Reply::Raw(head("503 Unavailable", "text/plain"))),
        HostileRegistry::new("first-http-protocol", not_git, first_http_protocol),
    ]
}
