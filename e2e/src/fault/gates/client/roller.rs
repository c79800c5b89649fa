//! A maintainer who rolls `production` back to an earlier deployment, at times while it is frozen.

use rand::RngExt;
use serde_json::Value;
use uuid::Uuid;

use super::freezer::PAST;
use super::{ApiRequest, Client};

use crate::fault::deployments::client::http::Outcome;
use crate::fault::deployments::organization::Organization;
use crate::fault::fixture::parse_id;
use crate::fault::gates::definition::{MIGRATE, PIPELINES, PRODUCTION};
use crate::fault::gates::history::Place;

/// Long enough for a stage to begin, if the freeze were ignored.
const FREEZE_SECONDS: i64 = 5;
const LAST_TRIES: usize = 30;

impl Client {
    /// Runs until no more deployments are to be requested, or so many rollbacks were. Then rolls back once more, during
    /// a freeze: a lost runner can delay the deployments that were requested, so it waits until one can be rolled back.
    pub(crate) async fn run_roller(mut self, max_rollbacks: u64) {
        let mut done = 0;
        while done < max_rollbacks && !self.is_closed() {
            self.pause(500, 2_000).await;
            let pipeline = PIPELINES[self.rng.random_range(0..PIPELINES.len())].slug;
            let is_frozen = self.rng.random_ratio(2, 3);
            done += u64::from(self.roll_back(pipeline, is_frozen).await);
        }
        for _ in 0..LAST_TRIES {
            for pipeline in &PIPELINES {
                if self.roll_back(pipeline.slug, true).await {
                    return;
                }
            }
            self.pause(1_000, 2_000).await;
        }
    }

    /// Returns whether `production` of the pipeline was rolled back.
    async fn roll_back(&mut self, pipeline: &'static str, is_frozen: bool) -> bool {
        let Some(earlier) = self.earlier_deployment(pipeline).await else { return false };
        // A second rollback of one deployment would make the time of the first one unknown.
        if !self.shared.history().rolled_back.insert(earlier) {
            return false;
        }
        if is_frozen {
            let place = Place { pipeline, environment: PRODUCTION };
            self.freeze(place, -PAST, FREEZE_SECONDS).await;
        }
        let is_retried = self.retry(earlier, MIGRATE, true).await;
        if is_retried {
            self.wait_for_end(earlier).await;
        }
        is_retried
    }

    /// Returns the newest deployment that was live in `production` and no longer is.
    async fn earlier_deployment(&mut self, pipeline: &str) -> Option<Uuid> {
        let path = Organization::path(&format!("/pipelines/{pipeline}/environments/{PRODUCTION}/history"));
        let Outcome::Done(rows) = self.send(&ApiRequest::get(path)).await else { return None };
        let was_live = |row: &&Value| row["outcome"] == "succeeded" && row["live"] == false;
        rows.as_array()?.iter().find(was_live)?["deploymentId"].as_str().and_then(parse_id)
    }
}
