//! Measures many steps that write logs concurrently. Each step waits at a named pipe until all steps run, and
//! then prints its own part of one file.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;
use sqlx::PgConnection;
use tokio::net::unix::pipe;

use super::fixture::{DeploymentFixture, commit};
use super::log_file::{LogFile, MIB};
use super::log_read::read;
use super::runner::Kind;
use super::{BenchDeployments, Figures};
use crate::bench::print_progress;
use crate::parts::machine::Memory;
use crate::parts::programs::Programs;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    let mut fixture = DeploymentFixture::start("bench-logs", programs).await?;
    let measured = write_concurrently(&mut fixture, options.log_steps as usize).await;
    fixture.end().await?;
    measured
}

async fn write_concurrently(fixture: &mut DeploymentFixture, steps: usize) -> anyhow::Result<Figures> {
    let file = LogFile::make(&fixture.folder.join("output"), steps as u64 * MIB)?;
    let gate = fixture.folder.join("gate");
    make_gate(&gate).await?;
    fixture.make_pipeline(&definition(&gate, &file.path)).await?;
    fixture.start_runner(Kind::Process, steps).await?;
    let mut connection = fixture.connect().await?;
    let mut deployments = Vec::new();
    for number in 0..steps {
        deployments.push(fixture.deploy(&commit(number)).await?);
    }
    wait_for_steps(&mut connection, "running", steps).await?;
    let server = fixture.server.pid()?;
    Memory::reset_peak(server);
    let idle = Memory::of(server)?.resident_mib;
    let began = Instant::now();
    // The steps are blocked in opening the named pipe for reading, and continue as soon as it has a writer.
    // The pipe has one until `opened` is dropped.
    let opened = pipe::OpenOptions::new().open_sender(&gate)?;
    wait_for_steps(&mut connection, "succeeded", steps).await?;
    let seconds = began.elapsed().as_secs_f64();
    let peak = Memory::of(server)?.peak_mib;
    drop(opened);
    for (number, deployment) in deployments.iter().enumerate() {
        let found = fixture.read(deployment, "").await?;
        let step = found["stages"][0]["steps"][0]["id"].as_str().context("a step without an id")?;
        let wanted = (MIB, file.sha256(number as u64 * MIB, MIB)?);
        if read(fixture, deployment, step).await? != wanted {
            bail!("the log of step {number} differs from its output");
        }
    }
    let rate = file.bytes as f64 / 1e6 / seconds;
    print_progress(&format!(
        "log: {rate:.1} MB/s from {steps} concurrent steps; the server had {peak:.0} MiB at most"
    ));
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

/// A deployment's commit is its number, which selects the part of the file that its step prints.
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

/// Waits until this many steps are in this status.
async fn wait_for_steps(connection: &mut PgConnection, status: &str, steps: usize) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let count: i64 = sqlx::query_scalar("select count(*) from step_runs where status = $1")
            .bind(status)
            .fetch_one(&mut *connection)
            .await?;
        if usize::try_from(count)? == steps {
            return Ok(());
        }
        if began.elapsed() > TIMEOUT {
            bail!("{count} of {steps} steps were {status} after {TIMEOUT:?}");
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
