//! The part `watch`: the memory of an idle stream on the server, and how long it takes until the last of many
//! watchers is notified of a claim.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;
use sqlx::PgConnection;
use tokio::process::Command;

use super::fixture::LockFixture;
use super::watchers::{WatchedEvent, Watchers};
use super::wire::{self, Wire};
use super::{BenchLocks, Figures};
use crate::bench::{median, print_progress};
use crate::stack::{Process, Stack};

const CLAIMS: usize = 20;
const WARM_UP: usize = 200;
/// The number of open files of a process in addition to its connections.
const OTHER_FILES: u32 = 500;
/// How long to wait until the server has finished the work of new connections.
const SETTLE_TIME: Duration = Duration::from_secs(3);

/// The stream of one environment if the server has it, else the organization's.
const STREAM_OF_ENVIRONMENT: &str = "/pipelines/bench/ephemeral-environments/env-0/events";
const STREAM_OF_ORGANIZATION: &str = "/events/stream";

pub(crate) async fn measure(arguments: &BenchLocks) -> anyhow::Result<Figures> {
    print_progress("watch: starting PostgreSQL, a server and a worker");
    let stack = Stack::start("bench-watch").await?;
    let measured = with_watchers(&stack, arguments.watchers).await;
    stack.end().await?;
    measured
}

async fn with_watchers(stack: &Stack, count: u32) -> anyhow::Result<Figures> {
    let organization = stack.organization("bench", 0).await?;
    let (server, worker) = (stack.server().await?, stack.worker().await?);
    allow_files(server.pid()?, count + OTHER_FILES).await?;
    allow_files(std::process::id(), count + OTHER_FILES).await?;
    let fixture = LockFixture::make(&server, &organization, 1).await?;
    let mut client = fixture.client(0).await?;
    for _ in 0..WARM_UP {
        client.claim().await?;
        client.release().await?;
    }
    let stream = stream(&fixture).await?;
    // The first streams have a one-time cost, which is not measured.
    let first = Watchers::open(&fixture, &stream, 50).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    first.end().await?;
    tokio::time::sleep(SETTLE_TIME).await;

    let without = resident(&server)?;
    let mut watchers = Watchers::open(&fixture, &stream, count).await?;
    print_progress(&format!("watch: {count} watch {stream}"));
    tokio::time::sleep(SETTLE_TIME).await;
    let idle = resident(&server)?;

    // A new client is needed: the server has closed the first connection, which was idle for too long.
    let mut client = fixture.client(0).await?;
    let mut connection = stack.connect().await?;
    let (mut from_claim, mut from_response) = (Vec::new(), Vec::new());
    for _ in 0..CLAIMS {
        watchers.expect_event(WatchedEvent::Claim);
        client.claim().await?;
        let responded_at = Instant::now();
        let last = watchers.wait_for_all().await?;
        from_claim.push(millis(last_claim(&mut connection).await?, last));
        from_response.push(millis(responded_at, last));

        watchers.expect_event(WatchedEvent::Release);
        client.release().await?;
        watchers.wait_for_all().await?;
    }
    tokio::time::sleep(SETTLE_TIME).await;
    let used = resident(&server)?;
    watchers.end().await?;
    server.end().await;
    worker.end().await;

    let each = |bytes: u64| bytes.saturating_sub(without) as f64 / f64::from(count);
    let delay = median(from_claim.clone());
    print_progress(&format!(
        "watch: {:.0} bytes each, the last is notified of a claim after {delay:.1} ms",
        each(idle)
    ));
    let details = json!({
        "watchers": count,
        "stream": stream,
        "serverBytesWithoutWatchers": without,
        "serverBytesWithWatchers": idle,
        "watcherBytesAfterEvents": each(used),
        "delaysMs": from_claim,
        "delayFromAnswerMs": median(from_response),
    });
    Ok(Figures::from_iter([
        ("watcherBytes".to_owned(), json!(each(idle))),
        ("watchDelayMs".to_owned(), json!(delay)),
        ("watch".to_owned(), details),
    ]))
}

/// Returns when the newest session was claimed by PostgreSQL's clock, which is just before the commit. The
/// two clocks are compared by the age that PostgreSQL reports; of a few attempts the fastest is the most
/// exact.
async fn last_claim(connection: &mut PgConnection) -> anyhow::Result<Instant> {
    let mut best: Option<(Duration, Instant)> = None;
    for _ in 0..5 {
        let started = Instant::now();
        let age: f64 = sqlx::query_scalar(
            "select extract(epoch from clock_timestamp() - max(claimed_at))::float8 from sessions",
        )
        .fetch_one(&mut *connection)
        .await?;
        let took = started.elapsed();
        if best.is_none_or(|(least, _)| took < least) {
            let at = (started + took / 2).checked_sub(Duration::try_from_secs_f64(age)?);
            best = Some((took, at.context("the claim was before this machine's time")?));
        }
    }
    Ok(best.context("there was no attempt")?.1)
}

/// Returns the difference in milliseconds. It is negative if `to` is before `from`, as when the last watcher
/// was notified before the response arrived.
fn millis(from: Instant, to: Instant) -> f64 {
    let (late, early) = (to.saturating_duration_since(from), from.saturating_duration_since(to));
    (late.as_secs_f64() - early.as_secs_f64()) * 1e3
}

/// Returns the path of the stream to watch.
async fn stream(fixture: &LockFixture) -> anyhow::Result<String> {
    let base = format!("/api/v1/organizations/{}", fixture.organization);
    for path in [STREAM_OF_ENVIRONMENT, STREAM_OF_ORGANIZATION] {
        let path = format!("{base}{path}");
        let request = wire::request("GET", &fixture.host, &path, &fixture.token, "");
        if Wire::connect(&fixture.host).await?.status_of(&request).await? == 200 {
            return Ok(path);
        }
    }
    bail!("the server has no event stream")
}

/// Returns the resident memory of the process. The kernel's memory for its sockets is not included.
fn resident(process: &Process) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", process.pid()?))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes =
        line.and_then(|line| line.split_whitespace().next()).and_then(|word| word.parse::<u64>().ok());
    Ok(kilobytes.context("/proc/…/status has no VmRSS")? * 1024)
}

/// Raises a process's limit of open files, as far as the machine allows.
async fn allow_files(pid: u32, files: u32) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let now = line.and_then(|line| line.split_whitespace().next()).and_then(|word| word.parse::<u32>().ok());
    if now.is_some_and(|now| now >= files) {
        return Ok(());
    }
    let mut command = Command::new("prlimit");
    let ended = command.args(["--pid", &pid.to_string(), &format!("--nofile={files}:")]).status().await;
    if !ended.context("prlimit (util-linux) is needed")?.success() {
        bail!(
            "process {pid} may not open {files} files: raise the hard limit (ulimit -Hn), or watch with fewer"
        );
    }
    Ok(())
}
