//! The owner, who freezes environments for some seconds.

use rand::RngExt;
use reqwest::Method;
use serde_json::json;

use super::{ApiRequest, Client, timestamp};
use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::client::http::Outcome;
use crate::fault::deployments::organization::Organization;
use crate::fault::gates::definition::PIPELINES;
use crate::fault::gates::history::{Freeze, Place};

/// How long before now a freeze begins that holds from now on.
pub(super) const PAST: Micros = 60 * SECOND;

/// A freeze that this client has created: its id, and its position in the history.
pub(super) struct CreatedFreeze {
    id: String,
    index: usize,
}

impl Client {
    /// Runs until no more deployments are to be requested.
    pub(crate) async fn run_freezer(mut self) {
        while !self.is_closed() {
            self.pause(1_000, 3_000).await;
            let (place, seconds) = (self.random_place(), self.rng.random_range(2..=4));
            let begins_in = if self.rng.random_ratio(1, 3) { SECOND } else { -PAST };
            let freeze = self.freeze(place, begins_in, seconds).await;
            self.pause(500, 1_500).await;
            if let Some(freeze) = freeze.filter(|_| self.rng.random_ratio(1, 2)) {
                self.end_freeze(freeze).await;
            }
        }
    }

    /// Freezes an environment. `begins_in` is in microseconds, and negative for a freeze from now on.
    pub(super) async fn freeze(
        &mut self,
        place: Place,
        begins_in: Micros,
        seconds: i64,
    ) -> Option<CreatedFreeze> {
        let now = self.shared.clock.now();
        let (from, to) = (now + begins_in, now + begins_in.max(0) + seconds * SECOND);
        let index = PIPELINES.iter().position(|pipeline| pipeline.slug == place.pipeline)?;
        let body = json!({
            "name": "A short freeze",
            "reason": "a campaign",
            "pipelines": [self.shared.fixture.pipeline_ids[index]],
            "environments": [place.environment],
            "from": timestamp(from),
            "to": timestamp(to),
        });
        let owner = self.shared.fixture.organization.owner.clone();
        let me = std::mem::replace(&mut self.me, owner);
        let outcome = self.change(ApiRequest::post(Organization::path("/freezes"), Some(body))).await;
        self.me = me;
        let Outcome::Done(record) = outcome else { return None };
        let acknowledged_at = self.shared.clock.now();
        let id = record["id"].as_str()?.to_owned();
        let mut history = self.shared.history();
        history.freezes.push(Freeze { place, acknowledged_at, from, to, lifted_at: None });
        Some(CreatedFreeze { id, index: history.freezes.len() - 1 })
    }

    async fn end_freeze(&mut self, freeze: CreatedFreeze) {
        self.shared.history().freezes[freeze.index].lifted_at = Some(self.shared.clock.now());
        let path = Organization::path(&format!("/freezes/{}", freeze.id));
        self.change(ApiRequest { method: Method::DELETE, ..ApiRequest::get(path) }).await;
    }
}
