//! Ports for servers that are killed and restarted. They are outside the range of ephemeral ports, so that no
//! outgoing connection takes one while its server is down.

use std::net::TcpListener;

use anyhow::Context;

pub(crate) fn free() -> anyhow::Result<u16> {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (0..1_000)
        .map(|_| rand::random_range(20_000..32_000))
        .find(free)
        .context("no free port between 20000 and 32000")
}
