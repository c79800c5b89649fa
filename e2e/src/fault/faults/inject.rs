//! Does the damage, and takes it back.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::fault::client::Shared;
use crate::fault::faults::{Fault, crowd};
use crate::fault::finding::Finding;
use crate::fault::stack::Stack;
use crate::parts::proxy::Network;

/// Clocks are wrong by up to this many seconds.
const SKEW: i64 = 60;

pub(crate) struct Injector {
    pub(crate) rng: StdRng,
    pub(crate) shared: Arc<Shared>,
    /// What a fault has shown by itself.
    pub(crate) findings: Vec<Finding>,
}

impl Injector {
    /// Returns when everything is healed again, as far as that is in the injector's hands. What was done.
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
                let hole = self.hole();
                stack.servers[index].proxy.set(hole);
                let waited = self.pause(8_000, 15_000).await;
                stack.servers[index].proxy.set(Network::Good);
                Ok(format!("black hole ({hole:?}) before server {} for {waited:.1?}", index + 1))
            }
            Fault::BlackHoleAll => {
                let hole = self.hole();
                stack.daemons().for_each(|daemon| daemon.proxy.set(hole));
                let waited = self.pause(8_000, 15_000).await;
                stack.daemons().for_each(|daemon| daemon.proxy.set(Network::Good));
                Ok(format!("black hole ({hole:?}) before all for {waited:.1?}"))
            }
            Fault::Latency => {
                let index = self.rng.random_range(0..stack.servers.len());
                // Half a second per message stretches a command beyond every limit. A tenth of it lets commands get
                // through, with the row locked across others' leases.
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
        let far = self.rng.random_range(SKEW / 2..=SKEW);
        if self.rng.random_ratio(1, 2) { far } else { -far }
    }

    /// Half of the holes give back what fell into them.
    fn hole(&mut self) -> Network {
        if self.rng.random_ratio(1, 2) { Network::Hole } else { Network::Grave }
    }

    async fn pause(&mut self, least: u64, most: u64) -> Duration {
        let pause = Duration::from_millis(self.rng.random_range(least..most));
        tokio::time::sleep(pause).await;
        pause
    }
}
