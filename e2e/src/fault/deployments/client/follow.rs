//! Following a deployment to its end: waiting, canceling at times, trying a failed stage again at times.

use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Answer, Asking, Client};
use crate::fault::deployments::client::visit::Stay;
use crate::fault::deployments::world::World;

/// Who has waited so long goes on to something else.
const PATIENCE: Duration = Duration::from_secs(50);
const RENEW_EVERY: Duration = Duration::from_secs(4);

/// What has become of a deployment that was waited for.
enum Seen {
    Ended(Value),
    StillGoesOn,
    /// The session that it was deployed in is over.
    SessionOver,
}

impl Client {
    /// Whether the session, if there is one, is still held in the end.
    pub(super) async fn follow(&mut self, deployment: Uuid, stay: Option<&Stay>) -> bool {
        if self.rng.random_ratio(1, 8) {
            self.pause(300, 2_500).await;
            let body = self.rng.random_ratio(1, 2).then(|| json!({ "force": true }));
            let path = World::path(&format!("/deployments/dep_{deployment}/cancel"));
            self.change(Asking::post(path, Some(body.unwrap_or_else(|| json!({}))))).await;
        }
        let mut seen = self.wait_for(deployment, stay).await;
        if let Seen::Ended(record) = &seen
            && self.rng.random_ratio(2, 3)
            && let Some(stage) = ended_badly(record)
        {
            let path = World::path(&format!("/deployments/dep_{deployment}/stages/{stage}/retry"));
            if let Answer::Done(_) = self.change(Asking::post(path, Some(json!({})))).await {
                seen = self.wait_for(deployment, stay).await;
            }
        }
        !matches!(seen, Seen::SessionOver)
    }

    async fn wait_for(&mut self, deployment: Uuid, stay: Option<&Stay>) -> Seen {
        let (started, mut renewed) = (Instant::now(), Instant::now());
        let path = World::path(&format!("/deployments/dep_{deployment}"));
        while started.elapsed() < PATIENCE {
            self.pause(300, 600).await;
            if let Some(stay) = stay.filter(|_| renewed.elapsed() > RENEW_EVERY) {
                renewed = Instant::now();
                if !self.renew(stay).await {
                    return Seen::SessionOver;
                }
            }
            if let Answer::Done(record) = self.ask(&Asking::get(path.clone())).await
                && record["endedAt"].is_string()
            {
                return Seen::Ended(record);
            }
        }
        Seen::StillGoesOn
    }
}

/// The first stage that did not end well.
fn ended_badly(record: &Value) -> Option<String> {
    let stages = record["stages"].as_array()?;
    let bad = |stage: &&Value| matches!(stage["status"].as_str(), Some("failed" | "errored"));
    stages.iter().find(bad)?["key"].as_str().map(str::to_owned)
}
