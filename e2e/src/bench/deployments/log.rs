//! Logs: one step with much output, then many steps that write concurrently, on a server with its objects on
//! disk. What the API returns afterwards must equal the output, byte for byte.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;

use super::container::time;
use super::fixture::{DeploymentFixture, commit};
use super::log_file::{LogFile, MIB};
use super::log_read::read;
use super::runner::Kind;
use super::{BenchDeployments, Figures, many_logs};
use crate::bench::{median, print_progress};
use crate::parts::machine::Memory;
use crate::parts::programs::Programs;

const TIMEOUT: Duration = Duration::from_secs(900);
/// The number of runs of the step with much output.
const RUNS: usize = 3;

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    print_progress("log: starting two stacks, one after the other, with a runner each");
    let mut figures = one_step(options, programs).await?;
    figures.extend(many_logs::measure(options, programs).await?);
    Ok(figures)
}

async fn one_step(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    let mut fixture = DeploymentFixture::start("bench-log", programs).await?;
    let measured = measure_one_log(&mut fixture, options.log_mib * MIB).await;
    fixture.end().await?;
    measured
}

async fn measure_one_log(fixture: &mut DeploymentFixture, bytes: u64) -> anyhow::Result<Figures> {
    let file = LogFile::make(&fixture.folder.join("output"), bytes)?;
    let run = format!("cat '{}'", file.path.display());
    let definition = format!("stages:\n  only:\n    steps:\n      - image: none\n        run: {run:?}\n");
    fixture.make_pipeline(&definition).await?;
    fixture.start_runner(Kind::Process, 1).await?;
    let server = fixture.server.pid()?;
    let (idle, wanted) = (Memory::of(server)?.resident_mib, file.sha256(0, file.bytes)?);
    let (mut rates, mut reads) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        Memory::reset_peak(server);
        let deployment = fixture.deploy(&commit(number)).await?;
        let step = &fixture.succeeded(&deployment, TIMEOUT).await?["stages"][0]["steps"][0];
        let seconds = time(&step["endedAt"])?.duration_since(time(&step["startedAt"])?).as_secs_f64();
        let began = Instant::now();
        let read = read(fixture, &deployment, step["id"].as_str().context("a step without an id")?).await?;
        if read != (file.bytes, wanted) {
            bail!("the log differs from the step's output: {} bytes of {}", read.0, file.bytes);
        }
        let rate = |seconds: f64| file.bytes as f64 / 1e6 / seconds;
        rates.push(rate(seconds));
        reads.push(rate(began.elapsed().as_secs_f64()));
        print_progress(&format!(
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
