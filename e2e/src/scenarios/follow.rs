//! Follows a log by server-sent events while it is written, hangs up now and then, and goes on from where it was.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::Value;

use crate::parts::deadline::Deadline;
use crate::scenarios::step::Follow;
use crate::scenarios::world::World;

#[derive(Debug, Default)]
struct Heard {
    text: String,
    /// What the next connection says it has.
    last: Option<String>,
    messages: usize,
    ended: bool,
}

impl World<'_> {
    pub(super) async fn follow(&self, step: &Follow) -> anyhow::Result<()> {
        let within = step.within.unwrap_or(60);
        let heard = tokio::time::timeout(Duration::from_secs(within), self.hear(step)).await;
        let heard = heard.with_context(|| format!("the stream had not ended after {within} s"))??;
        let path = self.log_path(&step.follow, None).await?;
        let whole = self.read_log(&path, None, None).await?;
        if heard.text != whole.text {
            bail!("the stream said {} bytes:\n{}\nthe log is:\n{}", heard.text.len(), heard.text, whole.text);
        }
        Ok(())
    }

    async fn hear(&self, step: &Follow) -> anyhow::Result<Heard> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(60));
        // The step has to be there before it can be followed.
        let path = loop {
            match self.log_path(&step.follow, None).await {
                Ok(path) => break path,
                Err(error) => deadline.again(|| format!("{error:#}")).await?,
            }
        };
        let mut heard = Heard::default();
        let mut breaks = step.break_after.map_or(0, |_| step.breaks.unwrap_or(1));
        while !heard.ended {
            let most = step.break_after.filter(|_| breaks > 0).unwrap_or(usize::MAX);
            self.connection(&path, &mut heard, most, step.touch.as_deref()).await?;
            breaks = breaks.saturating_sub(1);
        }
        if breaks > 0 {
            bail!("the stream had ended before it could be broken off {breaks} times more");
        }
        Ok(heard)
    }

    /// One connection, for so many messages at most.
    async fn connection(
        &self,
        path: &str,
        heard: &mut Heard,
        most: usize,
        touch: Option<&str>,
    ) -> anyhow::Result<()> {
        let path = format!("{path}/stream");
        let mut request = self.parts.api.request(Method::GET, &path, self.people.owner());
        if let Some(last) = &heard.last {
            request = request.header("last-event-id", last);
        }
        let mut response = request.send().await?;
        if !response.status().is_success() {
            bail!("{path} was answered {} {}", response.status(), response.text().await?);
        }
        let (mut bytes, mut messages) = (Vec::new(), 0);
        while let Some(chunk) = response.chunk().await? {
            bytes.extend_from_slice(&chunk);
            while let Some(end) = bytes.windows(2).position(|two| two == b"\n\n") {
                let message: Vec<u8> = bytes.drain(..end + 2).collect();
                if !heard.take(std::str::from_utf8(&message)?)? {
                    continue;
                }
                if let Some(touch) = touch.filter(|_| heard.messages == 1) {
                    self.stage_folder.touch(touch)?;
                }
                messages += 1;
                if heard.ended || messages >= most {
                    return Ok(());
                }
            }
        }
        bail!("the stream broke off without a message `end`")
    }
}

impl Heard {
    /// Whether it was a message at all, and not only a sign of life.
    fn take(&mut self, message: &str) -> anyhow::Result<bool> {
        let field = |name: &str| {
            message.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim_start)
        };
        let (Some(kind), Some(id)) = (field("event"), field("id")) else { return Ok(false) };
        match kind {
            "end" => self.ended = true,
            "log" => {
                let data: Value = serde_json::from_str(field("data").unwrap_or_default())?;
                // Nothing twice, and nothing left out.
                if data["seq"].as_u64() != Some(self.text.len() as u64) {
                    bail!("after {} bytes came {data}", self.text.len());
                }
                self.text.push_str(data["text"].as_str().context("a message without text")?);
                self.messages += 1;
            }
            other => bail!("the stream said `{other}`"),
        }
        self.last = Some(id.to_owned());
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_twice_or_left_out() {
        let mut heard = Heard::default();
        assert!(!heard.take(":\n\n").unwrap());
        assert!(heard.take("event: log\nid: 3\ndata: {\"seq\":0,\"text\":\"abc\"}\n\n").unwrap());
        assert!(heard.take("event: log\nid: 3\ndata: {\"seq\":0,\"text\":\"abc\"}\n\n").is_err());
        assert!(heard.take("event: log\nid: 9\ndata: {\"seq\":4,\"text\":\"e\"}\n\n").is_err());
        assert!(heard.take("event: log\nid: 5\ndata: {\"seq\":3,\"text\":\"de\"}\n\n").unwrap());
        assert!(heard.take("event: end\nid: 5\ndata: {}\n\n").unwrap());
        assert_eq!((heard.text.as_str(), heard.last.as_deref(), heard.ended), ("abcde", Some("5"), true));
    }
}
