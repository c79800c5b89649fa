//! A small reader of server-sent events.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::support::{Caller, TestServer};

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub id: i64,
    pub event: String,
    pub data: Value,
}

#[derive(Debug, PartialEq)]
pub enum Read {
    Message(Message),
    Comment,
    Ended,
    Silent,
}

pub struct Stream {
    response: Response,
    buffer: Vec<u8>,
}

impl Stream {
    /// `query` begins with a question mark.
    pub async fn open(server: &TestServer, caller: &Caller, query: &str) -> Self {
        Self::of(server.request(caller, Method::GET, &format!("/events/stream{query}")).send().await.unwrap())
            .await
    }

    pub async fn resume(server: &TestServer, caller: &Caller, query: &str, last: i64) -> Self {
        let request = server.request(caller, Method::GET, &format!("/events/stream{query}"));
        Self::of(request.header("last-event-id", last).send().await.unwrap()).await
    }

    /// An open stream sends a comment immediately.
    pub async fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        let mut stream = Self { response, buffer: Vec::new() };
        assert_eq!(stream.read(TIMEOUT).await, Read::Comment);
        stream
    }

    /// Reads the next message, comment or end of the stream.
    pub async fn read(&mut self, within: Duration) -> Read {
        let deadline = Instant::now() + within;
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return parse(std::str::from_utf8(&block).unwrap());
            }
            match timeout_at(deadline, self.response.chunk()).await {
                Err(_) => return Read::Silent,
                Ok(Ok(Some(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Ok(None) | Err(_)) => return Read::Ended,
            }
        }
    }

    /// Returns the next event; skips comments.
    pub async fn message(&mut self) -> Message {
        loop {
            match self.read(TIMEOUT).await {
                Read::Comment => {}
                Read::Message(message) => return message,
                other => assert_eq!(other, Read::Comment, "no event came"),
            }
        }
    }

    pub async fn messages(&mut self, count: usize) -> Vec<Message> {
        let mut messages = Vec::with_capacity(count);
        while messages.len() < count {
            messages.push(self.message().await);
        }
        messages
    }

    /// Returns whether the server ends the stream in time; skips what it still sends.
    pub async fn ends(&mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            match self.read(deadline.saturating_duration_since(Instant::now())).await {
                Read::Ended => return true,
                Read::Silent => return false,
                Read::Comment | Read::Message(_) => {}
            }
        }
    }
}

fn parse(block: &str) -> Read {
    let (mut id, mut event, mut data) = (None, String::new(), String::new());
    for line in block.lines().filter(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("id", text)) => id = text.parse().ok(),
            Some(("event", text)) => text.clone_into(&mut event),
            Some(("data", text)) => data += text,
            _ => assert!(line.starts_with(':') || line.starts_with("retry: "), "{line}"),
        }
    }
    match id {
        None => Read::Comment,
        Some(id) => Read::Message(Message { id, event, data: serde_json::from_str(&data).unwrap() }),
    }
}
