//! Clients that try one thing only: bursts of deployments under `concurrency`, and a runner that never does what it was given.

use std::time::{Duration, Instant};

use serde_json::json;
use uuid::Uuid;

use super::{Answer, Asked, Asking, Client};
use crate::fault::deployments::definition::{HOLLOW_PIPELINE, NARROW};
use crate::fault::deployments::history::History;
use crate::fault::deployments::world::{Place, World};

/// How many are asked for at once: more than may run.
const BURST: usize = 4;
/// Longer than a job may stay overdue.
const PATIENCE: Duration = Duration::from_secs(240);
const LEASE_SECONDS: u32 = 500;

impl Client {
    /// Two of them begin at once and take equally long, so that they end at once while others wait.
    pub(crate) async fn burst(mut self) -> History {
        while !self.shared.load.is_closed() {
            let mut begun = Vec::new();
            for _ in 0..BURST {
                let commit = self.shared.load.another_commit();
                let path = World::path(&format!("/pipelines/{}/deployments", NARROW.slug));
                if let Asked::Accepted(deployment, _) = self.ask_uncounted(commit, path, json!({})).await {
                    begun.push(deployment);
                }
            }
            for deployment in begun {
                self.until_ended(deployment).await;
            }
            self.pause(500, 3_000).await;
        }
        self.history
    }

    /// One deployment after the other whose runner only sends heartbeats; each has to be ended by the server.
    pub(crate) async fn deploy_into_the_hollow(mut self, times: u64) -> History {
        let place = Place { pipeline: HOLLOW_PIPELINE.slug, name: HOLLOW_PIPELINE.environments[0] };
        let mut done = 0;
        while done < times && !self.shared.load.is_closed() {
            let body = json!({ "ttlSeconds": LEASE_SECONDS, "context": "a runner that does nothing" });
            let commit = self.shared.load.another_commit();
            match self.ask_uncounted(commit, place.path("/sessions"), body).await {
                Asked::Accepted(deployment, record) => {
                    self.until_ended(deployment).await;
                    let session = record["sessionId"].as_str().unwrap_or_default();
                    let path = place.path(&format!("/sessions/{session}"));
                    let release = Asking { method: reqwest::Method::DELETE, ..Asking::get(path) };
                    self.change(release).await;
                    done += 1;
                }
                _ => self.pause(500, 1_500).await,
            }
        }
        self.history
    }

    async fn until_ended(&mut self, deployment: Uuid) {
        let started = Instant::now();
        let path = World::path(&format!("/deployments/dep_{deployment}"));
        while started.elapsed() < PATIENCE {
            self.pause(300, 600).await;
            if let Answer::Done(record) = self.ask(&Asking::get(path.clone())).await
                && record["endedAt"].is_string()
            {
                return;
            }
        }
    }
}
