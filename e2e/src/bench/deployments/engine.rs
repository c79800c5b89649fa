//! Deployments per second, started at once and followed to their end, ÷ the same of the same steps on bare Temporal. Every
//! run has a stack of its own that is new and does nothing else, and the two sides run in turns.

use std::time::{Duration, Instant};

use serde_json::json;

use super::runner::Kind;
use super::site::Site;
use super::{BenchDeployments, Figures, bare, wave};
use crate::bench::cpu::{self, Cpu};
use crate::bench::{median, say};
use crate::parts::programs::Programs;

const DEFINITION: &str = "stages:
  build:
    steps: [{ image: none, run: 'true' }]
  test:
    needs: [build]
    steps: [{ image: none, run: 'true' }]
  release:
    needs: [test]
    steps: [{ image: none, run: 'true' }]
";
/// How many there are, on either side, before those that count: so many that every connection has seen every statement.
pub(crate) const WARM_UP: usize = 100;

/// One run of one side.
pub(crate) struct Run {
    pub(crate) per_second: f64,
    /// Processor time for one deployment, the warm-up's included, by who used it.
    pub(crate) cpu_millis: Figures,
    /// How much of the machine went to others.
    pub(crate) others_share: f64,
}

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    let (mut ours, mut bares) = (Vec::new(), Vec::new());
    for number in 1..=options.runs {
        let own = run(options, programs).await?;
        let bare = bare::run(options, programs).await?;
        say(&format!(
            "engine, run {number}: {:.1} deployments/s, bare {:.1}, ratio {:.3}; others had {:.0} % and {:.0} % of the machine",
            own.per_second,
            bare.per_second,
            own.per_second / bare.per_second,
            own.others_share * 100.0,
            bare.others_share * 100.0,
        ));
        ours.push(own);
        bares.push(bare);
    }
    let ratios: Vec<f64> =
        ours.iter().zip(&bares).map(|(own, bare)| own.per_second / bare.per_second).collect();
    let details = json!({
        "ratios": ratios,
        "deployments": options.deployments,
        "clients": options.clients,
        "runners": options.runners,
        "ours": Run::figures(&ours),
        "bare": Run::figures(&bares),
        "machineLoadAtTheEnd": cpu::machine_load()?,
    });
    Ok(Figures::from_iter([
        ("engineRatio".to_owned(), json!(median(ratios))),
        ("engine".to_owned(), details),
    ]))
}

async fn run(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Run> {
    let mut site = Site::start("bench-engine", programs).await?;
    let measured = on(&mut site, options).await;
    site.end().await?;
    measured
}

async fn on(site: &mut Site, options: &BenchDeployments) -> anyhow::Result<Run> {
    site.make_pipeline(DEFINITION).await?;
    let room = options.deployments.div_ceil(options.runners.max(1)).clamp(1, 256);
    for _ in 0..options.runners {
        site.start_runner(Kind::Dummy, room).await?;
    }
    let mut connection = site.connect().await?;
    let (before, began) = (readings(site)?, Instant::now());
    let machine = Cpu::of_machine()?;
    wave::run(site, &mut connection, (WARM_UP, options.clients)).await?;
    // What PostgreSQL does by itself within the first minute. Until then its plans are those for empty tables.
    sqlx::query("analyze").execute(&mut connection).await?;
    let seconds = wave::run(site, &mut connection, (options.deployments, options.clients)).await?;
    let (all, mut sum) = ((options.deployments + WARM_UP) as f64, 0.0);
    let mut cpu_millis = Figures::new();
    for ((name, after), (_, before)) in readings(site)?.into_iter().zip(before) {
        let millis = after.since(before).micros() / 1e3;
        sum += millis;
        cpu_millis.insert(name.to_owned(), json!(millis / all));
    }
    let foreign = Cpu::of_machine()?.since(machine).micros() / 1e3 - sum;
    let per_second = options.deployments as f64 / seconds;
    Ok(Run { per_second, cpu_millis, others_share: Run::share(foreign, began.elapsed()) })
}

fn readings(site: &Site) -> anyhow::Result<Vec<(&'static str, Cpu)>> {
    let mut runners = Cpu::default();
    for runner in &site.runners {
        runners = runners.and(Cpu::of_process(runner.pid()?)?);
    }
    Ok(vec![
        ("temporal", Cpu::of_process(site.services.pid("temporal")?)?),
        ("postgres", Cpu::of_postgres(site.services.pid("postgres")?)?),
        ("server", Cpu::of_process(site.server.pid()?)?),
        ("worker", Cpu::of_process(site.worker.pid()?)?),
        ("runners", runners),
        ("client", Cpu::own()?),
    ])
}

impl Run {
    /// Of all processors, in that time.
    pub(crate) fn share(millis: f64, of: Duration) -> f64 {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        millis.max(0.0) / (of.as_secs_f64() * 1e3 * processors)
    }

    fn figures(runs: &[Self]) -> serde_json::Value {
        let rates: Vec<f64> = runs.iter().map(|run| run.per_second).collect();
        let mut cpu = Figures::new();
        for name in runs.first().map(|run| run.cpu_millis.keys()).into_iter().flatten() {
            let values = runs.iter().filter_map(|run| run.cpu_millis.get(name)?.as_f64());
            cpu.insert(name.clone(), json!(median(values.collect())));
        }
        json!({
            "deploymentsPerSecond": median(rates.clone()),
            "runs": rates,
            "cpuMillisPerDeployment": cpu,
            "othersShareOfMachine": median(runs.iter().map(|run| run.others_share).collect()),
        })
    }
}
