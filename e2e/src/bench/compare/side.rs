//! One of the two sides: a separate stack with the programs of one revision, which stays up from the first
//! pair to the last.

use std::fmt::Write;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor};

use super::load;
use super::options::{BenchCompare, Benchmark};
use super::pair::Run;
use crate::bench::deployments::fixture::DeploymentFixture;
use crate::bench::deployments::runner::Kind;
use crate::bench::deployments::wave;
use crate::bench::locks;
use crate::bench::locks::fixture::LockFixture;
use crate::bench::print_progress;
use crate::parts::cpu::Cpu;
use crate::parts::programs::Programs;

/// Number of pipelines in the list that `api` requests, all pages together.
const PIPELINES: usize = 300;
const WARM_UP_SECONDS: u32 = 3;
const RUNNERS: usize = 4;
const CLIENTS: usize = 16;
/// A side is idle when it has used less than this, in microseconds, during a whole quiet period.
const MAX_IDLE_MICROS: f64 = 30_000.0;
const IDLE_PERIOD: Duration = Duration::from_millis(300);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Revision {
    New,
    Baseline,
}

pub(crate) struct Side {
    deployment_fixture: DeploymentFixture,
    lock_fixture: LockFixture,
}

impl Side {
    pub(crate) async fn start(revision: Revision, options: &BenchCompare) -> anyhow::Result<Self> {
        let (name, folder) = match revision {
            Revision::New => ("compare-new", &options.new_dir),
            Revision::Baseline => ("compare-baseline", &options.baseline_dir),
        };
        let deployment_fixture =
            DeploymentFixture::start(name, &Programs::find(Some(folder), None, None)?).await?;
        let (host, token) = (deployment_fixture.api.address().to_owned(), deployment_fixture.token.clone());
        let side = Self {
            deployment_fixture,
            lock_fixture: LockFixture { host, token, organization: "bench".to_owned() },
        };
        if let Err(error) = side.deployment_fixture.make_pipeline(&definition(options.connections)?).await {
            side.end().await?;
            return Err(error);
        }
        Ok(side)
    }

    pub(crate) async fn end(self) -> anyhow::Result<()> {
        self.deployment_fixture.end().await
    }

    /// Prepares what the benchmark needs, and warms up with a run that is not measured.
    pub(crate) async fn prepare(
        &mut self,
        benchmark: Benchmark,
        options: &BenchCompare,
    ) -> anyhow::Result<()> {
        match benchmark {
            Benchmark::Api => {
                let path = format!("/organizations/{}/pipelines", self.lock_fixture.organization);
                for number in 1..PIPELINES {
                    let name = format!("pipeline-{number:04}");
                    let body = json!({ "name": name, "slug": name, "definition": definition(0)? });
                    self.deployment_fixture
                        .api
                        .call_ok(Method::POST, &path, &self.deployment_fixture.token, Some(&body))
                        .await?;
                }
                load::lists(&self.lock_fixture, options.connections, WARM_UP_SECONDS).await?;
            }
            Benchmark::Locks => {
                locks::load::load(&self.lock_fixture, options.connections, WARM_UP_SECONDS).await?;
            }
            Benchmark::Engine => {
                let concurrency = (options.deployments as usize).div_ceil(RUNNERS).clamp(1, 256);
                for _ in 0..RUNNERS {
                    self.deployment_fixture.start_runner(Kind::Dummy, concurrency).await?;
                }
                self.wave(options.deployments as usize).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn run(&self, benchmark: Benchmark, options: &BenchCompare) -> anyhow::Result<Run> {
        self.vacuum().await?;
        self.wait_until_idle().await?;
        let (before, machine, own) = (self.readings()?, Cpu::of_machine()?, Cpu::own()?);
        let (operations, seconds) = match benchmark {
            Benchmark::Api => {
                totals(&load::lists(&self.lock_fixture, options.connections, options.seconds).await?)
            }
            Benchmark::Locks => {
                totals(&locks::load::load(&self.lock_fixture, options.connections, options.seconds).await?)
            }
            Benchmark::Engine => {
                let deployments = options.deployments as usize;
                (f64::from(options.deployments), self.wave(deployments).await?)
            }
        };
        let mut ours = Cpu::own()?.since(own);
        let mut cpu_micros = Vec::new();
        for ((name, before), (_, after)) in before.into_iter().zip(self.readings()?) {
            let used = after.since(before);
            ours = ours.and(used);
            cpu_micros.push((name, used.micros() / operations));
        }
        let others = Cpu::of_machine()?.since(machine).micros() - ours.micros();
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        Ok(Run {
            per_second: operations / seconds,
            cpu_micros,
            others_share: others.max(0.0) / (seconds * 1e6 * processors),
        })
    }

    async fn wave(&self, deployments: usize) -> anyhow::Result<f64> {
        let mut connection = self.deployment_fixture.connect().await?;
        wave::run(&self.deployment_fixture, &mut connection, (deployments, CLIENTS)).await
    }

    fn readings(&self) -> anyhow::Result<Vec<(&'static str, Cpu)>> {
        let mut runners = Cpu::default();
        for runner in &self.deployment_fixture.runners {
            runners = runners.and(Cpu::of_process(runner.pid()?)?);
        }
        Ok(vec![
            ("server", Cpu::of_process(self.deployment_fixture.server.pid()?)?),
            ("worker", Cpu::of_process(self.deployment_fixture.worker.pid()?)?),
            ("postgres", Cpu::of_postgres(self.deployment_fixture.services.pid("postgres")?)?),
            ("temporal", Cpu::of_process(self.deployment_fixture.services.pid("temporal")?)?),
            ("runners", runners),
        ])
    }

    /// Updates the planner's statistics and writes out what the last run left in memory, so that no run pays
    /// for another.
    async fn vacuum(&self) -> anyhow::Result<()> {
        let mut connection = self.deployment_fixture.connect().await?;
        for statement in ["vacuum analyze", "checkpoint"] {
            connection.execute(AssertSqlSafe(statement.to_owned())).await?;
        }
        Ok(())
    }

    /// Waits until this side is idle: events of an earlier run are sequenced, and streams and the engine are
    /// notified.
    async fn wait_until_idle(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        while started.elapsed() < IDLE_TIMEOUT {
            let before = self.readings()?;
            tokio::time::sleep(IDLE_PERIOD).await;
            let after = self.readings()?;
            let used =
                after.iter().zip(&before).map(|((_, after), (_, before))| after.since(*before).micros());
            if used.sum::<f64>() < MAX_IDLE_MICROS {
                return Ok(());
            }
        }
        print_progress("compare: the side was still busy after a minute; it is measured nevertheless");
        Ok(())
    }
}

fn totals(load: &locks::load::Load) -> (f64, f64) {
    (load.pairs as f64, load.seconds)
}

/// Returns a definition with three stages, one after the other, and as many environments as there are
/// clients.
fn definition(environments: u32) -> anyhow::Result<String> {
    let mut text = String::new();
    for number in 0..environments {
        if number == 0 {
            text.push_str("ephemeralEnvironments:\n");
        }
        writeln!(text, "  env-{number}: {{ labels: [bench] }}")?;
    }
    text.push_str(
        "stages:
  build:
    steps: [{ image: none, run: 'true' }]
  test:
    needs: [build]
    steps: [{ image: none, run: 'true' }]
  release:
    needs: [test]
    steps: [{ image: none, run: 'true' }]
",
    );
    Ok(text)
}
