//! Injects faults and reverts them.

use std::time::Duration;

use anyhow::Context;
use rand::RngExt;
use rand::rngs::StdRng;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::stack::{Part, Stack};
use crate::parts::left_over::{command_line, processes_with};
use crate::parts::proxy::{Network, Proxy};
use crate::parts::signal;

/// In milliseconds. A job is lost 36 s after its last heartbeat.
const SHORT_PAUSE_MILLIS: (u64, u64) = (3_000, 15_000);
const LONG_PAUSE_MILLIS: (u64, u64) = (40_000, 50_000);

pub(crate) struct Injector {
    pub(crate) rng: StdRng,
    /// Identifies the processes of steps: `NAME=value`.
    pub(crate) mark: String,
    /// In milliseconds: how long a killed runner stays away at most.
    pub(crate) max_runner_downtime: u64,
}

impl Injector {
    /// Returns a description of the fault, after everything that the injector can revert is reverted. Runners
    /// are chosen among those that have one of these `jobs`, if there is any.
    pub(crate) async fn inject(
        &mut self,
        stack: &mut Stack,
        fault: Fault,
        jobs: &[Uuid],
    ) -> anyhow::Result<String> {
        match fault {
            Fault::KillRunner => {
                let index = self.busy_runner(stack, jobs).await;
                let name = stack.runners[index].runner.name.clone();
                stack.runners[index].runner.program()?.kill().await?;
                let waited = self.pause((0, self.max_runner_downtime)).await;
                stack.start_runner(index)?;
                Ok(format!("killed {name} for {waited:.1?}"))
            }
            Fault::PauseRunner => self.pause_runner(stack, SHORT_PAUSE_MILLIS, jobs).await,
            Fault::PauseRunnerLong => self.pause_runner(stack, LONG_PAUSE_MILLIS, jobs).await,
            Fault::KillServer => self.kill_one(|stack| &mut stack.servers, stack).await,
            Fault::KillWorker => self.kill_one(|stack| &mut stack.workers, stack).await,
            Fault::PauseServer => self.pause_one(&stack.servers).await,
            Fault::PauseWorker => self.pause_one(&stack.workers).await,
            Fault::KillTemporal => {
                stack.temporal.kill().await?;
                self.pause((0, 3_000)).await;
                stack.temporal.start()?;
                stack.temporal.ready().await?;
                Ok("killed Temporal".to_owned())
            }
            Fault::PauseTemporal => {
                stack.temporal.signal("STOP").await?;
                let waited = self.pause(SHORT_PAUSE_MILLIS).await;
                stack.temporal.signal("CONT").await?;
                Ok(format!("paused Temporal for {waited:.1?}"))
            }
            Fault::KillPostgres => {
                stack.postgres.kill().await?;
                self.pause((0, 1_000)).await;
                stack.postgres.start().await?;
                Ok("killed PostgreSQL".to_owned())
            }
            Fault::PausePostgres => {
                stack.postgres.signal("STOP").await?;
                let waited = self.pause(SHORT_PAUSE_MILLIS).await;
                stack.postgres.signal("CONT").await?;
                Ok(format!("paused PostgreSQL for {waited:.1?}"))
            }
            Fault::KillStep => self.kill_step().await,
            Fault::CutServerFromPostgres => {
                self.cut("servers from PostgreSQL", stack.servers.iter().map(|part| &part.to_postgres)).await
            }
            Fault::CutWorkerFromPostgres => {
                self.cut("workers from PostgreSQL", stack.workers.iter().map(|part| &part.to_postgres)).await
            }
            Fault::CutServerFromTemporal => {
                self.cut("servers from Temporal", stack.servers.iter().map(|part| &part.to_temporal)).await
            }
            Fault::CutWorkerFromTemporal => {
                self.cut("workers from Temporal", stack.workers.iter().map(|part| &part.to_temporal)).await
            }
            Fault::CutRunnerFromServer => {
                self.cut("runners from servers", stack.runners.iter().map(|proxied| &proxied.to_server)).await
            }
        }
    }

    async fn kill_one(
        &mut self,
        of: fn(&mut Stack) -> &mut Vec<Part>,
        stack: &mut Stack,
    ) -> anyhow::Result<String> {
        let parts = of(stack);
        let index = self.rng.random_range(0..parts.len());
        let part = &mut parts[index];
        part.daemon.kill().await?;
        self.pause((0, 5_000)).await;
        part.daemon.start()?;
        Ok(format!("killed {}", part.name))
    }

    async fn pause_one(&mut self, parts: &[Part]) -> anyhow::Result<String> {
        let part = &parts[self.rng.random_range(0..parts.len())];
        part.daemon.signal("STOP").await?;
        let waited = self.pause(SHORT_PAUSE_MILLIS).await;
        part.daemon.signal("CONT").await?;
        Ok(format!("paused {} for {waited:.1?}", part.name))
    }

    async fn pause_runner(
        &mut self,
        stack: &mut Stack,
        bounds: (u64, u64),
        jobs: &[Uuid],
    ) -> anyhow::Result<String> {
        let index = self.busy_runner(stack, jobs).await;
        let runner = &mut stack.runners[index].runner;
        runner.program()?.signal("STOP").await?;
        let waited = self.pause(bounds).await;
        runner.program()?.signal("CONT").await?;
        Ok(format!("paused {} for {waited:.1?}", runner.name))
    }

    async fn busy_runner(&mut self, stack: &Stack, jobs: &[Uuid]) -> usize {
        let busy = runners_of(&stack.postgres.url(), jobs).await.unwrap_or_default();
        let runner_index =
            |name: &String| stack.runners.iter().position(|proxied| proxied.runner.name == *name);
        let busy: Vec<usize> = busy.iter().filter_map(runner_index).collect();
        if busy.is_empty() {
            return self.rng.random_range(0..stack.runners.len());
        }
        busy[self.rng.random_range(0..busy.len())]
    }

    /// Kills the entrypoint, which ends the whole container; or the process that the entrypoint has started.
    async fn kill_step(&mut self) -> anyhow::Result<String> {
        let entrypoint = self.rng.random_ratio(1, 2);
        // On the host it is `greenroom-entry`, in a container `/greenroom/entry`.
        let is_entrypoint = |line: &str| line.split(' ').next().is_some_and(|word| word.ends_with("entry"));
        let of_step = |pid: &u32| is_entrypoint(&command_line(*pid)) == entrypoint;
        let processes: Vec<u32> = processes_with(&self.mark).into_iter().filter(of_step).collect();
        let Some(pid) = processes.get(self.rng.random_range(0..processes.len().max(1))) else {
            return Ok("killed no step: none ran".to_owned());
        };
        let what = command_line(*pid);
        // It may have ended just now.
        let _ = signal::send("KILL", *pid).await;
        Ok(format!("killed a step's {}", what.split(' ').next().unwrap_or_default()))
    }

    /// Puts one or all of the proxies into a black hole. Half of the black holes deliver afterwards what they
    /// have swallowed.
    async fn cut<'a>(
        &mut self,
        what: &str,
        proxies: impl Iterator<Item = &'a Proxy>,
    ) -> anyhow::Result<String> {
        let proxies: Vec<&Proxy> = proxies.collect();
        let network = if self.rng.random_ratio(1, 2) { Network::Stalled } else { Network::Dropped };
        let one = self.rng.random_range(0..proxies.len());
        let all = self.rng.random_ratio(1, 2);
        let chosen = || proxies.iter().enumerate().filter(|(index, _)| all || *index == one);
        chosen().for_each(|(_, proxy)| proxy.set(network));
        let waited = self.pause(SHORT_PAUSE_MILLIS).await;
        chosen().for_each(|(_, proxy)| proxy.set(Network::Good));
        let which = if all { "all".to_owned() } else { format!("number {}", one + 1) };
        Ok(format!("cut {what} ({which}, {network:?}) for {waited:.1?}"))
    }

    async fn pause(&mut self, (min, max): (u64, u64)) -> Duration {
        let pause = Duration::from_millis(self.rng.random_range(min..max));
        tokio::time::sleep(pause).await;
        pause
    }
}

async fn runners_of(url: &str, jobs: &[Uuid]) -> anyhow::Result<Vec<String>> {
    let mut connection = PgConnection::connect(url).await.context("the busy runners can't be queried")?;
    let names = "select distinct runner_name from jobs where id = any($1) and runner_name is not null";
    Ok(sqlx::query_scalar(names).bind(jobs).fetch_all(&mut connection).await?)
}
