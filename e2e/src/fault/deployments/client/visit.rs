//! A visit to an environment: it is claimed, or taken by force, deployed into a few times, and let go in one way or another.

use rand::RngExt;
use reqwest::Method;
use serde_json::json;

use super::{Answer, Asked, Asking, Client};
use crate::fault::deployments::world::{Place, World};

/// A session that this client holds, or held.
pub(super) struct Stay {
    place: Place,
    session: String,
}

impl Stay {
    fn path(&self, rest: &str) -> String {
        self.place.path(&format!("/sessions/{}{rest}", self.session))
    }
}

impl Client {
    pub(super) async fn visit(&mut self) {
        let places = World::places();
        // A few environments are wanted by all.
        let among = if self.rng.random_ratio(1, 2) { 2 } else { places.len() };
        let place = places[self.rng.random_range(0..among)];
        let claimed = match self.claim(place, "/sessions").await {
            Err(code) if code == "environment_locked" && self.rng.random_ratio(1, 3) => {
                // In the middle of whatever its holder does there.
                self.pause(0, 1_500).await;
                self.claim(place, "/force-claim").await
            }
            claimed => claimed,
        };
        match claimed {
            Ok(Some(stay)) => self.stay(&stay).await,
            _ => self.pause(300, 1_500).await,
        }
    }

    /// Claims, at times with a first commit. The refusal's code, or nothing if the outcome is not known.
    async fn claim(&mut self, place: Place, door: &str) -> Result<Option<Stay>, String> {
        // Some leases are shorter than a deployment takes, and end in its middle if nobody is quick.
        let ttl = if self.rng.random_ratio(1, 4) {
            self.rng.random_range(3..6)
        } else {
            self.rng.random_range(12..30)
        };
        let body = json!({ "ttlSeconds": ttl, "context": "a campaign" });
        let path = place.path(door);
        let commit = if self.rng.random_ratio(1, 2) { self.shared.load.try_take() } else { None };
        let record = match commit {
            Some(commit) => match self.ask_for(commit, path, body).await {
                Asked::Accepted(_, record) => record,
                Asked::Refused(code) => return Err(code),
                Asked::Unknown => return Ok(None),
            },
            None => match self.change(Asking::post(path, Some(body))).await {
                Answer::Done(record) => record,
                Answer::Refused(code) => return Err(code),
                Answer::Unknown => return Ok(None),
            },
        };
        let session = record["sessionId"].as_str().map(str::to_owned);
        Ok(session.map(|session| Stay { place, session }))
    }

    async fn stay(&mut self, stay: &Stay) {
        for _ in 0..self.rng.random_range(1..=3) {
            let Some(commit) = self.shared.load.try_take() else {
                self.pause(300, 1_500).await;
                continue;
            };
            let asked = self.ask_for(commit, stay.path("/deploy"), json!({})).await;
            let Asked::Accepted(deployment, _) = asked else { break };
            self.post(deployment);
            if self.rng.random_ratio(1, 2) {
                self.meddle().await;
            }
            if self.rng.random_ratio(1, 10) {
                // It dies, and what it had begun goes on until its lease runs out.
                return;
            }
            // At times the next one comes at once and takes its place.
            if !self.rng.random_ratio(1, 5) && !self.follow(deployment, Some(stay)).await {
                return;
            }
        }
        match self.rng.random_range(0..8) {
            // It is forgotten, and its lease runs out.
            0 => {}
            1 => {
                self.pause(200, 2_000).await;
                self.release(stay).await;
            }
            _ => self.release(stay).await,
        }
    }

    async fn release(&mut self, stay: &Stay) {
        let asking = Asking { method: Method::DELETE, path: stay.path(""), body: None, key: None };
        self.change(asking).await;
    }

    /// Whether it is still held, as far as is known.
    pub(super) async fn renew(&mut self, stay: &Stay) -> bool {
        !matches!(self.change(Asking::post(stay.path("/renew"), None)).await, Answer::Refused(_))
    }
}
