//! Follows a log by server-sent events while it is written, disconnects now and then, and resumes from its
//! last position.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::Value;

use crate::parts::deadline::Deadline;
use crate::scenarios::fixture::ScenarioFixture;
use crate::scenarios::step::Follow;

#[derive(Debug, Default)]
struct ReceivedStream {
    text: String,
    /// The last event id that the next connection sends.
    last: Option<String>,
    messages: usize,
    ended: bool,
}

impl ScenarioFixture<'_> {
    pub(super) async fn follow(&self, step: &Follow) -> anyhow::Result<()> {
        let within = step.within.unwrap_or(60);
        let received = tokio::time::timeout(Duration::from_secs(within), self.receive(step)).await;
        let received = received.with_context(|| format!("the stream had not ended after {within} s"))??;
        let path = self.log_path(&step.follow, None).await?;
        let whole = self.read_log(&path, None, None).await?;
        if received.text != whole.text {
            bail!(
                "the stream sent {} bytes:\n{}\nthe log is:\n{}",
                received.text.len(),
                received.text,
                whole.text
            );
        }
        Ok(())
    }

    async fn receive(&self, step: &Follow) -> anyhow::Result<ReceivedStream> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(60));
        // The step has to exist before it can be followed.
        let path = loop {
            match self.log_path(&step.follow, None).await {
                Ok(path) => break path,
                Err(error) => deadline.wait(|| format!("{error:#}")).await?,
            }
        };
        let mut received = ReceivedStream::default();
        let mut breaks = step.break_after.map_or(0, |_| step.breaks.unwrap_or(1));
        while !received.ended {
            let max = step.break_after.filter(|_| breaks > 0).unwrap_or(usize::MAX);
            self.connection(&path, &mut received, max, step.touch.as_deref()).await?;
            breaks = breaks.saturating_sub(1);
        }
        if breaks > 0 {
            bail!("the stream had ended before it could be broken off {breaks} times more");
        }
        Ok(received)
    }

    /// Opens one connection and receives at most this many messages.
    async fn connection(
        &self,
        path: &str,
        received: &mut ReceivedStream,
        max: usize,
        touch: Option<&str>,
    ) -> anyhow::Result<()> {
        let path = format!("{path}/stream");
        let mut request = self.parts.api.request(Method::GET, &path, self.people.owner());
        if let Some(last) = &received.last {
            request = request.header("last-event-id", last);
        }
        let mut response = request.send().await?;
        if !response.status().is_success() {
            bail!("{path} returned {} {}", response.status(), response.text().await?);
        }
        let (mut bytes, mut messages) = (Vec::new(), 0);
        while let Some(chunk) = response.chunk().await? {
            bytes.extend_from_slice(&chunk);
            while let Some(end) = bytes.windows(2).position(|two| two == b"\n\n") {
                let message: Vec<u8> = bytes.drain(..end + 2).collect();
                if !received.take(std::str::from_utf8(&message)?)? {
                    continue;
                }
                if let Some(touch) = touch.filter(|_| received.messages == 1) {
                    self.stage_folder.touch(touch)?;
                }
                messages += 1;
                if received.ended || messages >= max {
                    return Ok(());
                }
            }
        }
        bail!("the stream broke off without a message `end`")
    }
}

impl ReceivedStream {
    /// Returns whether the block was a message and not only a keep-alive.
    fn take(&mut self, message: &str) -> anyhow::Result<bool> {
        let field = |name: &str| {
            message.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim_start)
        };
        let (Some(kind), Some(id)) = (field("event"), field("id")) else { return Ok(false) };
        match kind {
            "end" => self.ended = true,
            "log" => {
                let data: Value = serde_json::from_str(field("data").unwrap_or_default())?;
                // Every byte is sent exactly once.
                if data["seq"].as_u64() != Some(self.text.len() as u64) {
                    bail!("after {} bytes came {data}", self.text.len());
                }
                self.text.push_str(data["text"].as_str().context("a message without text")?);
                self.messages += 1;
            }
            other => bail!("the stream sent `{other}`"),
        }
        self.last = Some(id.to_owned());
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bytes_are_duplicated_or_missing() {
        let mut received = ReceivedStream::default();
        assert!(!received.take(":\n\n").unwrap());
        assert!(received.take("event: log\nid: 3\ndata: {\"seq\":0,\"text\":\"abc\"}\n\n").unwrap());
        assert!(received.take("event: log\nid: 3\ndata: {\"seq\":0,\"text\":\"abc\"}\n\n").is_err());
        assert!(received.take("event: log\nid: 9\ndata: {\"seq\":4,\"text\":\"e\"}\n\n").is_err());
        assert!(received.take("event: log\nid: 5\ndata: {\"seq\":3,\"text\":\"de\"}\n\n").unwrap());
        assert!(received.take("event: end\nid: 5\ndata: {}\n\n").unwrap());
        assert_eq!(
            (received.text.as_str(), received.last.as_deref(), received.ended),
            ("abcde", Some("5"), true)
        );
    }
}
