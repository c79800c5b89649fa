//! Injects faults and reverts them.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::fault::client::Shared;
use crate::fault::faults::{Fault, crowd};
use crate::fault::finding::Finding;
use crate::fault::stack::Stack;
use crate::parts::proxy::Network;

/// The maximum clock error in seconds.
const MAX_SKEW_SECONDS: i64 = 60;

pub(crate) struct Injector {
    pub(crate) rng: StdRng,
    pub(crate) shared: Arc<Shared>,
    /// Violations that a fault itself has shown.
    pub(crate) findings: Vec<Finding>,
}

impl Injector {
    /// Returns a description of the fault, after everything that the injector can revert is reverted.
    pub(crate) async fn inject(&mut self, stack: &mut Stack, fault: Fault) -> anyhow::Result<String> {
        match fault {
            Fault::KillServer => {
                let (index, offset) = (self.rng.random_range(0..stack.servers.len()), self.skew());
                stack.servers[index].kill().await?;
                self.pause(0, 2_000).await;
                stack.servers[index].start(offset)?;
                Ok(format!("killed server {}, back with {offset:+} s", index + 1))
            }
            Fault::KillWorker => {
                let (index, offset) = (self.rng.random_range(0..stack.workers.len()), self.skew());
                stack.workers[index].kill().await?;
                self.pause(500, 4_000).await;
                stack.workers[index].start(offset)?;
                Ok(format!("killed worker {}, back with {offset:+} s", index + 1))
            }
            Fault::PauseServer => {
                let index = self.rng.random_range(0..stack.servers.len());
                stack.servers[index].signal("STOP").await?;
                let waited = self.pause(3_000, 10_000).await;
                stack.servers[index].signal("CONT").await?;
                Ok(format!("paused server {} for {waited:.1?}", index + 1))
            }
            Fault::PauseWorker => {
                let index = self.rng.random_range(0..stack.workers.len());
                stack.workers[index].signal("STOP").await?;
                let waited = self.pause(3_000, 10_000).await;
                stack.workers[index].signal("CONT").await?;
                Ok(format!("paused worker {} for {waited:.1?}", index + 1))
            }
            Fault::KillPostgres => {
                stack.postgres.kill().await?;
                self.pause(0, 1_000).await;
                stack.postgres.start().await?;
                Ok("killed PostgreSQL".to_owned())
            }
            Fault::RestartPostgres => {
                stack.postgres.stop().await?;
                stack.postgres.start().await?;
                Ok("restarted PostgreSQL".to_owned())
            }
            Fault::BlackHoleOne => {
                let index = self.rng.random_range(0..stack.servers.len());
                let black_hole = self.black_hole();
                stack.servers[index].proxy.set(black_hole);
                let waited = self.pause(8_000, 15_000).await;
                stack.servers[index].proxy.set(Network::Good);
                Ok(format!("black hole ({black_hole:?}) before server {} for {waited:.1?}", index + 1))
            }
            Fault::BlackHoleAll => {
                let black_hole = self.black_hole();
                stack.daemons().for_each(|daemon| daemon.proxy.set(black_hole));
                let waited = self.pause(8_000, 15_000).await;
                stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Good));
                Ok(format!("black hole ({black_hole:?}) before all for {waited:.1?}"))
            }
            Fault::Latency => {
                let index = self.rng.random_range(0..stack.servers.len());
                // Half a second per message exceeds every timeout of a command. A tenth of it lets commands
                // succeed, with the row locked across others' leases.
                let delay = if self.rng.random_ratio(1, 2) { 400 } else { self.rng.random_range(20..80) };
                let (delay, jitter) = (Duration::from_millis(delay), Duration::from_millis(delay / 2));
                stack.servers[index].proxy.set(Network::Slow { delay, jitter });
                self.pause(8_000, 9_000).await;
                stack.servers[index].proxy.set(Network::Good);
                Ok(format!("server {} slower by {delay:?}", index + 1))
            }
            Fault::Clocks => {
                let mut offsets = Vec::new();
                for index in 0..stack.servers.len() {
                    let offset = self.skew();
                    stack.servers[index].kill().await?;
                    stack.servers[index].start(offset)?;
                    offsets.push(format!("{offset:+} s"));
                }
                Ok(format!("servers' clocks now {}", offsets.join(", ")))
            }
            Fault::QueueExpires => {
                let (text, findings) = crowd::expire(stack, &self.shared).await?;
                self.findings.extend(findings);
                Ok(text)
            }
        }
    }

    fn skew(&mut self) -> i64 {
        let far = self.rng.random_range(MAX_SKEW_SECONDS / 2..=MAX_SKEW_SECONDS);
        if self.rng.random_ratio(1, 2) { far } else { -far }
    }

    /// Half of the black holes deliver afterwards what they have swallowed.
    fn black_hole(&mut self) -> Network {
        if self.rng.random_ratio(1, 2) { Network::Stalled } else { Network::Dropped }
    }

    async fn pause(&mut self, min: u64, max: u64) -> Duration {
        let pause = Duration::from_millis(self.rng.random_range(min..max));
        tokio::time::sleep(pause).await;
        pause
    }
}
