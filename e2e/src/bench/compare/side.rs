//! One of the two: a stack of its own with the programs of one revision, which stays up from the first pair to the last.

use std::fmt::Write;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor};

use super::pair::Run;
use super::{BenchCompare, Benchmark, load};
use crate::bench::cpu::Cpu;
use crate::bench::deployments::runner::Kind;
use crate::bench::deployments::site::Site;
use crate::bench::deployments::wave;
use crate::bench::locks;
use crate::bench::locks::scene::Scene;
use crate::bench::say;
use crate::parts::programs::Programs;

/// How many pipelines the list that `api` asks for has, all pages together.
const PIPELINES: usize = 300;
const WARM_UP_SECONDS: u32 = 3;
const RUNNERS: usize = 4;
const CLIENTS: usize = 16;
/// A side that has used less than this, in microseconds, for so long has done all that a run has left behind.
const QUIET_MICROS: f64 = 30_000.0;
const QUIET: Duration = Duration::from_millis(300);
const CALM: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Revision {
    New,
    Baseline,
}

pub(crate) struct Side {
    site: Site,
    scene: Scene,
}

impl Side {
    pub(crate) async fn start(revision: Revision, options: &BenchCompare) -> anyhow::Result<Self> {
        let (name, folder) = match revision {
            Revision::New => ("compare-new", &options.new_dir),
            Revision::Baseline => ("compare-baseline", &options.baseline_dir),
        };
        let site = Site::start(name, &Programs::find(Some(folder), None, None)?).await?;
        let (host, token) = (site.api.address().to_owned(), site.token.clone());
        let side = Self { site, scene: Scene { host, token, organization: "bench".to_owned() } };
        if let Err(error) = side.site.make_pipeline(&definition(options.connections)?).await {
            side.end().await?;
            return Err(error);
        }
        Ok(side)
    }

    pub(crate) async fn end(self) -> anyhow::Result<()> {
        self.site.end().await
    }

    /// What the benchmark needs, and a run that does not count.
    pub(crate) async fn prepare(
        &mut self,
        benchmark: Benchmark,
        options: &BenchCompare,
    ) -> anyhow::Result<()> {
        match benchmark {
            Benchmark::Api => {
                let path = format!("/organizations/{}/pipelines", self.scene.organization);
                for number in 1..PIPELINES {
                    let name = format!("pipeline-{number:04}");
                    let body = json!({ "name": name, "slug": name, "definition": definition(0)? });
                    self.site.api.done(Method::POST, &path, &self.site.token, Some(&body)).await?;
                }
                load::lists(&self.scene, options.connections, WARM_UP_SECONDS).await?;
            }
            Benchmark::Locks => {
                locks::load::load(&self.scene, options.connections, WARM_UP_SECONDS).await?;
            }
            Benchmark::Engine => {
                let room = (options.deployments as usize).div_ceil(RUNNERS).clamp(1, 256);
                for _ in 0..RUNNERS {
                    self.site.start_runner(Kind::Dummy, room).await?;
                }
                self.wave(options.deployments as usize).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn run(&self, benchmark: Benchmark, options: &BenchCompare) -> anyhow::Result<Run> {
        self.tidy().await?;
        self.calm().await?;
        let (before, machine, own) = (self.readings()?, Cpu::of_machine()?, Cpu::own()?);
        let (operations, seconds) = match benchmark {
            Benchmark::Api => counted(&load::lists(&self.scene, options.connections, options.seconds).await?),
            Benchmark::Locks => {
                counted(&locks::load::load(&self.scene, options.connections, options.seconds).await?)
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
        let mut connection = self.site.connect().await?;
        wave::run(&self.site, &mut connection, (deployments, CLIENTS)).await
    }

    fn readings(&self) -> anyhow::Result<Vec<(&'static str, Cpu)>> {
        let mut runners = Cpu::default();
        for runner in &self.site.runners {
            runners = runners.and(Cpu::of_process(runner.pid()?)?);
        }
        Ok(vec![
            ("server", Cpu::of_process(self.site.server.pid()?)?),
            ("worker", Cpu::of_process(self.site.worker.pid()?)?),
            ("postgres", Cpu::of_postgres(self.site.services.pid("postgres")?)?),
            ("temporal", Cpu::of_process(self.site.services.pid("temporal")?)?),
            ("runners", runners),
        ])
    }

    /// Brings the planner's statistics up to date and writes out what the last run left in memory, so that no run pays for another.
    async fn tidy(&self) -> anyhow::Result<()> {
        let mut connection = self.site.connect().await?;
        for statement in ["vacuum analyze", "checkpoint"] {
            connection.execute(AssertSqlSafe(statement.to_owned())).await?;
        }
        Ok(())
    }

    /// Waits until this side is idle: events of an earlier run have their numbers, and streams and the engine have been told.
    async fn calm(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        while started.elapsed() < CALM {
            let before = self.readings()?;
            tokio::time::sleep(QUIET).await;
            let after = self.readings()?;
            let used =
                after.iter().zip(&before).map(|((_, after), (_, before))| after.since(*before).micros());
            if used.sum::<f64>() < QUIET_MICROS {
                return Ok(());
            }
        }
        say("compare: the side was still busy after a minute; it is measured all the same");
        Ok(())
    }
}

fn counted(load: &locks::load::Load) -> (f64, f64) {
    (load.pairs as f64, load.seconds)
}

/// Three stages, one after the other, and as many environments as there are clients.
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
