//! A step's log as the API returns it: all of it, or a part, byte for byte.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use sha2::{Digest, Sha256};

use crate::parts::deadline::Deadline;
use crate::scenarios::fixture::ScenarioFixture;
use crate::scenarios::step::{Log, StepPath};

/// The timeout is long enough for a log of one gibibyte.
const TIMEOUT: Duration = Duration::from_secs(600);
/// The number of bytes of a log that are kept for comparison. The rest only counts for length and checksum.
const MAX_KEPT_BYTES: usize = 1024 * 1024;

pub(super) struct Read {
    /// The beginning of the log.
    pub(super) text: String,
    pub(super) bytes: u64,
    sha256: String,
}

impl ScenarioFixture<'_> {
    /// Returns the path of a step's log in the API.
    pub(super) async fn log_path(&self, path: &StepPath, attempt: Option<i64>) -> anyhow::Result<String> {
        let (deployment, stage, number) = path;
        let attempts = self.read_target(&format!("{deployment}/attempts/{stage}")).await?;
        let attempts = attempts.as_array().map_or(&[][..], Vec::as_slice);
        let found = match attempt {
            Some(attempt) => attempts.iter().find(|one| one["attempt"] == attempt),
            None => attempts.last(),
        };
        let found = found.with_context(|| format!("{stage} has no such attempt; there are {attempts:#?}"))?;
        let id = found["steps"][number]["id"].as_str();
        let id = id.with_context(|| format!("{stage} has no step {number}: {found:#}"))?;
        self.deployment_path(deployment, &format!("/steps/{id}/logs"))
    }

    pub(super) async fn log(&self, step: &Log) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(step.within.unwrap_or(15));
        loop {
            let path = self.log_path(&step.log, step.attempt).await?;
            let read = self.read_log(&path, step.range.as_deref(), step.after_seq).await?;
            let Some(mismatch) = self.log_mismatch(step, &read)? else { return Ok(()) };
            let start: String = read.text.chars().take(2_000).collect();
            deadline.wait(|| format!("{mismatch}; the log ({} bytes) is:\n{start}", read.bytes)).await?;
        }
    }

    pub(super) async fn read_log(
        &self,
        path: &str,
        range: Option<&str>,
        after: Option<u64>,
    ) -> anyhow::Result<Read> {
        let path = &after.map_or(path.to_owned(), |after| format!("{path}?afterSeq={after}"));
        let mut request = self.parts.api.request(Method::GET, path, self.people.owner()).timeout(TIMEOUT);
        if let Some(range) = range {
            request = request.header("range", range);
        }
        let mut response = request.send().await?;
        let (status, wanted) = (response.status(), if range.is_some() { 206 } else { 200 });
        if status != wanted {
            bail!("{path} returned {status} {}", response.text().await?);
        }
        let (mut kept, mut bytes, mut digest) = (Vec::new(), 0_u64, Sha256::new());
        while let Some(chunk) = response.chunk().await? {
            bytes += chunk.len() as u64;
            digest.update(&chunk);
            let space = MAX_KEPT_BYTES.saturating_sub(kept.len()).min(chunk.len());
            kept.extend_from_slice(chunk.get(..space).unwrap_or_default());
        }
        let mut sha256 = String::new();
        for byte in digest.finalize() {
            write!(sha256, "{byte:02x}")?;
        }
        Ok(Read { text: String::from_utf8_lossy(&kept).into_owned(), bytes, sha256 })
    }

    fn log_mismatch(&self, step: &Log, read: &Read) -> anyhow::Result<Option<String>> {
        let wanted = |placeholder: &Option<String>| {
            placeholder.as_ref().map(|text| self.fill_placeholders(text)).transpose()
        };
        let (contains, lacks, equals) =
            (wanted(&step.contains)?, wanted(&step.lacks)?, wanted(&step.equals)?);
        let (bytes, sha256) = (wanted(&step.bytes)?, wanted(&step.sha256)?);
        if [&contains, &lacks, &equals, &bytes, &sha256].iter().all(|wanted| wanted.is_none()) {
            bail!("nothing is expected of the log: use `contains`, `lacks`, `equals`, `bytes` or `sha256`");
        }
        Ok(if let Some(text) = contains.filter(|text| !read.text.contains(text.as_str())) {
            Some(format!("it does not contain {text:?}"))
        } else if let Some(text) = lacks.filter(|text| read.text.contains(text.as_str())) {
            Some(format!("it contains {text:?}"))
        } else if let Some(text) = equals.filter(|text| read.text != *text) {
            Some(format!("it is not {text:?}"))
        } else if let Some(bytes) = bytes.filter(|bytes| *bytes != read.bytes.to_string()) {
            Some(format!("it has {} bytes, and not {bytes}", read.bytes))
        } else {
            let differs = sha256.filter(|sum| *sum != read.sha256);
            differs.map(|sum| format!("its SHA-256 is {}, and not {sum}", read.sha256))
        })
    }

    /// A log may contain braces: only known placeholders are replaced.
    fn fill_placeholders(&self, text: &str) -> anyhow::Result<String> {
        let placeholders = ["{commit ", "{short ", "{id ", "{file ", "{bytes}"];
        if placeholders.iter().any(|placeholder| text.contains(placeholder)) {
            self.fill(text)
        } else {
            Ok(text.to_owned())
        }
    }
}
