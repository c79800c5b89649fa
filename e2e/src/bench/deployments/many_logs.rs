//! Many steps that talk at once: each waits at a gate until all of them run, then says another part of one file.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;
use sqlx::PgConnection;
use tokio::net::unix::pipe;

use super::log::read;
use super::log_file::{LogFile, MIB};
use super::runner::Kind;
use super::site::{Site, commit};
use super::{BenchDeployments, Figures};
use crate::bench::say;
use crate::parts::machine::Memory;
use crate::parts::programs::Programs;

const LOOK_AGAIN: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    let mut site = Site::start("bench-logs", programs).await?;
    let measured = all_at_once(&mut site, options.log_steps as usize).await;
    site.end().await?;
    measured
}

async fn all_at_once(site: &mut Site, steps: usize) -> anyhow::Result<Figures> {
    let file = LogFile::make(&site.folder.join("said"), steps as u64 * MIB)?;
    let gate = site.folder.join("gate");
    make_gate(&gate).await?;
    site.make_pipeline(&definition(&gate, &file.path)).await?;
    site.start_runner(Kind::Process, steps).await?;
    let mut connection = site.connect().await?;
    let mut deployments = Vec::new();
    for number in 0..steps {
        deployments.push(site.deploy(&commit(number)).await?);
    }
    until(&mut connection, "running", steps).await?;
    let server = site.server.pid()?;
    Memory::forget_peak(server);
    let idle = Memory::of(server)?.resident_mib;
    let began = Instant::now();
    // Whoever waits to read from it goes on as soon as somebody may write to it, and stays in until we let go of it.
    let opened = pipe::OpenOptions::new().open_sender(&gate)?;
    until(&mut connection, "succeeded", steps).await?;
    let seconds = began.elapsed().as_secs_f64();
    let peak = Memory::of(server)?.peak_mib;
    drop(opened);
    for (number, deployment) in deployments.iter().enumerate() {
        let found = site.look(deployment, "").await?;
        let step = found["stages"][0]["steps"][0]["id"].as_str().context("a step without an id")?;
        let wanted = (MIB, file.sha256(number as u64 * MIB, MIB)?);
        if read(site, deployment, step).await? != wanted {
            bail!("the log of step {number} is not what it said");
        }
    }
    let rate = file.bytes as f64 / 1e6 / seconds;
    say(&format!("log: {rate:.1} MB/s from {steps} steps at once; the server had {peak:.0} MiB at most"));
    let details = json!({
        "steps": steps,
        "bytesEach": MIB,
        "seconds": seconds,
        "serverRssBeforeMiB": idle,
        "serverPeakRssMiB": peak,
    });
    Ok(Figures::from_iter([
        ("logManyMBs".to_owned(), json!(rate)),
        ("serverPeakRssMiB".to_owned(), json!(peak)),
        ("logManySteps".to_owned(), details),
    ]))
}

/// A deployment's commit is its number, and so the part of the file that its step says.
fn definition(gate: &Path, file: &Path) -> String {
    let (gate, file) = (gate.display(), file.display());
    format!(
        "stages:
  only:
    steps:
      - image: none
        run: |
          number=$((0x$GREENROOM_COMMIT_ID))
          : < '{gate}'
          dd if='{file}' bs=65536 skip=$((number * 16)) count=16 2> /dev/null
"
    )
}

async fn make_gate(path: &Path) -> anyhow::Result<()> {
    let made = tokio::process::Command::new("mkfifo").arg(path).status().await?;
    if !made.success() {
        bail!("mkfifo ended with {made}");
    }
    Ok(())
}

/// Waits until so many steps are so.
async fn until(connection: &mut PgConnection, status: &str, steps: usize) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let count: i64 = sqlx::query_scalar("select count(*) from step_runs where status = $1")
            .bind(status)
            .fetch_one(&mut *connection)
            .await?;
        if usize::try_from(count)? == steps {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            bail!("{count} of {steps} steps were {status} after {PATIENCE:?}");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
