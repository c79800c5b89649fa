//! How long the server waits for its clients. An installation always uses the defaults; tests use shorter times.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct ClientTiming {
    /// How long the head of a request may take, and how long a connection may be idle.
    pub header_timeout: Duration,
    /// A request body may not be below the minimum rate for this long.
    pub body_window: Duration,
    /// How often an idle stream sends a comment, so that proxies do not close it.
    pub stream_heartbeat_interval: Duration,
}

impl Default for ClientTiming {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            body_window: Duration::from_secs(10),
            stream_heartbeat_interval: Duration::from_secs(15),
        }
    }
}
