//! A maintainer who holds environments, preferably one in which another user's stage is about to begin, and deploys
//! there.

use std::time::{Duration, Instant};

use anyhow::Context;
use rand::RngExt;
use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::{ApiRequest, Client, timestamp};
use crate::fault::clock::SECOND;
use crate::fault::deployments::client::http::Outcome;
use crate::fault::deployments::organization::Organization;
use crate::fault::gates::definition::{Behavior, ENVIRONMENTS, PIPELINES};
use crate::fault::gates::history::{Hold, Place};

/// How long to look for a stage that is about to begin.
const LOOK_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The first stage of a deployment in an environment that is queued, or whose runner has not started a step. The
/// holder's own deployments are left out.
const ABOUT_TO_BEGIN: &str = "select p.slug, s.environment from stages s
    join deployments d on d.organization_id = s.organization_id and d.id = s.deployment_id
    join pipelines p on p.organization_id = d.organization_id and p.id = d.pipeline_id
    join lasting_environments e on e.organization_id = d.organization_id and e.pipeline_id = d.pipeline_id
        and e.name = s.environment and e.slot_deployment_id = d.id and not e.slot_has_begun
    where s.status in ('queued', 'running') and d.created_by <> $1 and d.retried_by is null
    order by random() limit 1";

impl Client {
    /// Runs until no more deployments are to be requested.
    pub(crate) async fn run_holder(mut self) {
        while !self.is_closed() {
            self.pause(200, 1_000).await;
            let place = match self.about_to_begin().await {
                Ok(Some(place)) => place,
                _ => self.random_place(),
            };
            self.hold(place).await;
        }
    }

    async fn hold(&mut self, place: Place) {
        let Place { pipeline, environment } = place;
        let path = Organization::path(&format!("/pipelines/{pipeline}/environments/{environment}/hold"));
        let until = self.shared.clock.now() + self.rng.random_range(2..=4) * SECOND;
        let body = json!({ "reason": "a campaign", "until": timestamp(until) });
        let Outcome::Done(_) = self.change(ApiRequest::post(path.clone(), Some(body))).await else { return };
        let index = {
            let (user, acknowledged_at) = (self.me.user, self.shared.clock.now());
            let mut history = self.shared.history();
            history.holds.push(Hold { place, user, acknowledged_at, until, lifted_at: None });
            history.holds.len() - 1
        };
        if self.rng.random_ratio(1, 3)
            && let Some(permit) = self.shared.load.try_take()
        {
            let allows_older = self.rng.random_ratio(1, 4);
            self.deploy(permit, pipeline, Behavior::Plain, allows_older).await;
        }
        self.pause(300, 2_000).await;
        if self.rng.random_ratio(3, 4) {
            self.shared.history().holds[index].lifted_at = Some(self.shared.clock.now());
            self.change(ApiRequest { method: Method::DELETE, ..ApiRequest::get(path) }).await;
        } else {
            // It ends by itself.
            let left = u64::try_from(until - self.shared.clock.now()).unwrap_or_default();
            tokio::time::sleep(Duration::from_micros(left)).await;
        }
    }

    /// Returns an environment in which a stage is about to begin.
    async fn about_to_begin(&self) -> anyhow::Result<Option<Place>> {
        let mut connection =
            PgConnection::connect(&self.shared.database_url).await.context("the stages can't be read")?;
        let started = Instant::now();
        while started.elapsed() < LOOK_TIMEOUT && !self.is_closed() {
            let found: Option<(String, String)> =
                sqlx::query_as(ABOUT_TO_BEGIN).bind(self.me.user).fetch_optional(&mut connection).await?;
            if let Some((slug, name)) = found {
                let pipeline = PIPELINES.iter().find(|pipeline| pipeline.slug == slug);
                let environment = ENVIRONMENTS.into_iter().find(|environment| *environment == name);
                return Ok(pipeline
                    .zip(environment)
                    .map(|(pipeline, environment)| Place { pipeline: pipeline.slug, environment }));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(None)
    }
}
