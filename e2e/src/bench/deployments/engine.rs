//! Measures deployments per second, from their common start to their end, divided by the rate of the same
//! steps on bare Temporal. Every run has a new, dedicated stack, and the two sides alternate.

use std::time::Instant;

use serde_json::json;

use super::fixture::DeploymentFixture;
use super::run::{Run, WARM_UP};
use super::runner::Kind;
use super::{BenchDeployments, Figures, bare, wave};
use crate::bench::{median, print_progress};
use crate::parts::cpu::{self, Cpu};
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
pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    let (mut ours, mut bares) = (Vec::new(), Vec::new());
    for number in 1..=options.runs {
        let own = run(options, programs).await?;
        let bare = bare::run(options, programs).await?;
        print_progress(&format!(
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
    let mut fixture = DeploymentFixture::start("bench-engine", programs).await?;
    let measured = measure_on(&mut fixture, options).await;
    fixture.end().await?;
    measured
}

async fn measure_on(fixture: &mut DeploymentFixture, options: &BenchDeployments) -> anyhow::Result<Run> {
    fixture.make_pipeline(DEFINITION).await?;
    let concurrency = options.deployments.div_ceil(options.runners.max(1)).clamp(1, 256);
    for _ in 0..options.runners {
        fixture.start_runner(Kind::Dummy, concurrency).await?;
    }
    let mut connection = fixture.connect().await?;
    let (before, began) = (readings(fixture)?, Instant::now());
    let machine = Cpu::of_machine()?;
    wave::run(fixture, &mut connection, (WARM_UP, options.clients)).await?;
    // Autovacuum would do this within the first minute. Until then PostgreSQL's plans are those for empty
    // tables.
    sqlx::query("analyze").execute(&mut connection).await?;
    let seconds = wave::run(fixture, &mut connection, (options.deployments, options.clients)).await?;
    let (all, mut sum) = ((options.deployments + WARM_UP) as f64, 0.0);
    let mut cpu_millis = Figures::new();
    for ((name, after), (_, before)) in readings(fixture)?.into_iter().zip(before) {
        let millis = after.since(before).micros() / 1e3;
        sum += millis;
        cpu_millis.insert(name.to_owned(), json!(millis / all));
    }
    let foreign = Cpu::of_machine()?.since(machine).micros() / 1e3 - sum;
    let per_second = options.deployments as f64 / seconds;
    Ok(Run { per_second, cpu_millis, others_share: Run::share(foreign, began.elapsed()) })
}

fn readings(fixture: &DeploymentFixture) -> anyhow::Result<Vec<(&'static str, Cpu)>> {
    let mut runners = Cpu::default();
    for runner in &fixture.runners {
        runners = runners.and(Cpu::of_process(runner.pid()?)?);
    }
    Ok(vec![
        ("temporal", Cpu::of_process(fixture.services.pid("temporal")?)?),
        ("postgres", Cpu::of_postgres(fixture.services.pid("postgres")?)?),
        ("server", Cpu::of_process(fixture.server.pid()?)?),
        ("worker", Cpu::of_process(fixture.worker.pid()?)?),
        ("runners", runners),
        ("client", Cpu::own()?),
    ])
}
