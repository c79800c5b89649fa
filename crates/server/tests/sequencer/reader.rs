//! A reader of an event stream. It reconnects with `Last-Event-ID` when the connection breaks.

use std::time::{Duration, Instant};

use futures_util::StreamExt;

pub struct Read {
    pub sequence: i64,
    pub writer: i64,
    pub number: i64,
}

/// Reads until `count` events of the writers have arrived.
pub async fn read(url: &str, token: &str, count: usize, timeout: Duration) -> Vec<Read> {
    let client =
        reqwest::Client::builder().no_proxy().connect_timeout(Duration::from_secs(2)).build().unwrap();
    let started = Instant::now();
    let (mut events, mut last) = (Vec::with_capacity(count), "0".to_owned());
    while events.len() < count {
        assert!(started.elapsed() < timeout, "{} of {count} events after {timeout:?}", events.len());
        let request = client.get(url).bearer_auth(token).header("Last-Event-ID", &last);
        let Ok(response) = request.send().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if response.status() != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        }
        let (mut bytes, mut text) = (response.bytes_stream(), Vec::new());
        while events.len() < count {
            let next = tokio::time::timeout(Duration::from_secs(5), bytes.next()).await;
            let Ok(Some(Ok(chunk))) = next else { break };
            text.extend_from_slice(&chunk);
            while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
                let message: Vec<u8> = text.drain(..end + 2).collect();
                if let Some(event) = parse(std::str::from_utf8(&message).unwrap(), &mut last) {
                    events.push(event);
                }
            }
        }
    }
    events
}

fn parse(message: &str, last: &mut String) -> Option<Read> {
    assert!(!message.contains("event: reset"), "the stream was reset");
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
    let id = field("id: ")?;
    last.replace_range(.., id);
    let event: serde_json::Value = serde_json::from_str(field("data: ")?).unwrap();
    let (writer, number) = (event["data"]["writer"].as_i64()?, event["data"]["number"].as_i64()?);
    Some(Read { sequence: id.parse().unwrap(), writer, number })
}
