//! Logs: one step that says much, then many steps that talk at once, on a server with its objects on disk. What the API
//! gives back afterwards must be what was said, byte for byte.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::container::time;
use super::log_file::{LogFile, MIB};
use super::runner::Kind;
use super::site::{Site, commit};
use super::{BenchDeployments, Figures, many_logs};
use crate::bench::{median, say};
use crate::parts::machine::Memory;
use crate::parts::programs::Programs;

const PATIENCE: Duration = Duration::from_secs(900);
/// Of the one that says much.
const RUNS: usize = 3;

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    say("log: starting two stacks, one after the other, with a runner each");
    let mut figures = one_step(options, programs).await?;
    figures.extend(many_logs::measure(options, programs).await?);
    Ok(figures)
}

async fn one_step(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    let mut site = Site::start("bench-log", programs).await?;
    let measured = say_much(&mut site, options.log_mib * MIB).await;
    site.end().await?;
    measured
}

async fn say_much(site: &mut Site, bytes: u64) -> anyhow::Result<Figures> {
    let file = LogFile::make(&site.folder.join("said"), bytes)?;
    let run = format!("cat '{}'", file.path.display());
    let definition = format!("stages:\n  only:\n    steps:\n      - image: none\n        run: {run:?}\n");
    site.make_pipeline(&definition).await?;
    site.start_runner(Kind::Process, 1).await?;
    let server = site.server.pid()?;
    let (idle, wanted) = (Memory::of(server)?.resident_mib, file.sha256(0, file.bytes)?);
    let (mut rates, mut reads) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        Memory::forget_peak(server);
        let deployment = site.deploy(&commit(number)).await?;
        let step = &site.succeeded(&deployment, PATIENCE).await?["stages"][0]["steps"][0];
        let seconds = time(&step["endedAt"])?.duration_since(time(&step["startedAt"])?).as_secs_f64();
        let began = Instant::now();
        let read = read(site, &deployment, step["id"].as_str().context("a step without an id")?).await?;
        if read != (file.bytes, wanted) {
            bail!("the log is not what the step said: {} bytes of {}", read.0, file.bytes);
        }
        let rate = |seconds: f64| file.bytes as f64 / 1e6 / seconds;
        rates.push(rate(seconds));
        reads.push(rate(began.elapsed().as_secs_f64()));
        say(&format!(
            "log: {:.1} MB/s from one step, read back with {:.1} MB/s",
            rates[number], reads[number]
        ));
    }
    let peak = Memory::of(server)?.peak_mib;
    let details = json!({
        "bytes": file.bytes,
        "runs": rates,
        "readMBs": reads,
        "serverRssBeforeMiB": idle,
        "serverPeakRssMiB": peak,
    });
    Ok(Figures::from_iter([("logMBs".to_owned(), json!(median(rates))), ("logOneStep".to_owned(), details)]))
}

/// Length and checksum of what the API gives.
pub(crate) async fn read(site: &Site, deployment: &str, step: &str) -> anyhow::Result<(u64, [u8; 32])> {
    let path = Site::deployment_path(deployment, &format!("/steps/{step}/logs"));
    let mut response = site.api.request(Method::GET, &path, &site.token).timeout(PATIENCE).send().await?;
    if response.status() != 200 {
        bail!("a log was answered {}", response.status());
    }
    let (mut bytes, mut digest) = (0, Sha256::new());
    while let Some(chunk) = response.chunk().await? {
        bytes += chunk.len() as u64;
        digest.update(&chunk);
    }
    Ok((bytes, digest.finalize().into()))
}
