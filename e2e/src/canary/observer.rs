//! What can only be seen while the steps run: their live logs, the containers, the storage of the container engine,
//! and what processes show of themselves.

use std::time::Duration;

use anyhow::Context;
use reqwest::Method;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::canary::fixture::{CanaryFixture, Reader};
use crate::canary::print::STAGES;
use crate::search::{Found, Needles};

const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// How often files are searched, at most; and less often if that takes long.
const FILES_INTERVAL: Duration = Duration::from_secs(4);
/// Programs that handle secrets or run beside them, as the kernel abbreviates their names. A step's own program
/// has them by design.
const PROGRAMS: [&str; 5] = ["greenroomd", "greenroom-runne", "greenroom-entry", "conmon", "podman"];

pub(crate) struct Observer<'a> {
    fixture: &'a CanaryFixture,
    deployment: &'a str,
    inspected: Found,
    processes: Found,
    storage: Found,
    runner_files: Found,
}

impl<'a> Observer<'a> {
    pub(crate) fn of(fixture: &'a CanaryFixture, deployment: &'a str) -> Self {
        let [inspected, processes, storage, runner_files] = [const { Found::EMPTY }; 4];
        Self { fixture, deployment, inspected, processes, storage, runner_files }
    }

    /// Observes until the deployment has ended.
    pub(crate) async fn watch(mut self, needles: &Needles) -> anyhow::Result<Vec<(&'static str, Found)>> {
        let mut streams = JoinSet::new();
        for stage in 0..STAGES {
            streams.spawn(follow(self.fixture.reader(), self.deployment.to_owned(), stage));
        }
        let (fixture, deployment) = (self.fixture, self.deployment);
        let ended = fixture.succeeded(deployment);
        tokio::pin!(ended);
        let mut files_at = Instant::now();
        loop {
            tokio::select! {
                ended = &mut ended => {
                    ended?;
                    break;
                }
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            self.look(needles, &mut files_at).await?;
        }
        let mut live = Found::EMPTY;
        while let Some(text) = streams.join_next().await {
            live.add(needles.search(&text.context("a stream broke the harness")??));
        }
        Ok(vec![
            ("liveLogs", live),
            ("inspect", self.inspected),
            ("processes", self.processes),
            ("engineStorage", self.storage),
            ("runnerFiles", self.runner_files),
        ])
    }

    async fn look(&mut self, needles: &Needles, files_at: &mut Instant) -> anyhow::Result<()> {
        self.processes.add(needles.search(&shown_by_processes()));
        let containers = self.fixture.parts.containers.as_ref().context("there is no container engine")?;
        let listed = containers.podman().args(["ps", "--all", "--quiet"]).output().await?;
        let ids = String::from_utf8_lossy(&listed.stdout).into_owned();
        if !ids.trim().is_empty() {
            // A container that has ended meanwhile is reported on standard error.
            let output = containers.podman().arg("inspect").args(ids.split_whitespace()).output().await?;
            self.inspected.add(needles.search(&output.stdout));
        }
        let began = Instant::now();
        if *files_at <= began {
            self.storage.add(needles.search_files(containers.folder()));
            for runner in &self.fixture.runners {
                self.runner_files.add(needles.search_files(&runner.work_folder()));
            }
            *files_at = Instant::now() + FILES_INTERVAL.max(began.elapsed() * 4);
        }
        Ok(())
    }
}

/// Returns what a client receives that follows the log of a stage's step: the messages as they are, and the texts
/// in them.
async fn follow(reader: Reader, deployment: String, stage: usize) -> anyhow::Result<Vec<u8>> {
    let path = loop {
        match reader.log_path(&deployment, stage).await? {
            Some(path) => break path,
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    };
    let (mut received, mut from) = (Vec::new(), None::<String>);
    loop {
        let mut request = reader.request(Method::GET, &format!("{path}/stream"));
        if let Some(last) = &from {
            request = request.header("last-event-id", last);
        }
        let mut response = request.send().await?.error_for_status()?;
        // The server may close a stream that lasts long.
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            text.extend_from_slice(&chunk);
        }
        received.extend_from_slice(&text);
        let text = String::from_utf8_lossy(&text).into_owned();
        for line in text.lines() {
            if let Some(id) = line.strip_prefix("id:") {
                from = Some(id.trim().to_owned());
            }
            let data = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data).ok());
            data.iter().for_each(|data| add_texts(data, &mut received));
        }
        if text.lines().any(|line| line.trim_end() == "event: end" || line.trim_end() == "event:end") {
            return Ok(received);
        }
    }
}

fn add_texts(value: &Value, texts: &mut Vec<u8>) {
    match value {
        Value::String(text) => texts.extend_from_slice(text.as_bytes()),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| add_texts(value, texts)),
        _ => {}
    }
}

/// Returns environment and arguments of the programs.
fn shown_by_processes() -> Vec<u8> {
    let mut shown = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let name = read("comm");
        if PROGRAMS.iter().any(|program| name.trim_ascii() == program.as_bytes()) {
            shown.extend(read("environ"));
            shown.extend(read("cmdline"));
        }
    }
    shown
}
