//! Clients: developers who deploy, a maintainer who holds environments, one who rolls back, and an owner who freezes.

mod deployer;
mod freezer;
mod holder;
mod observer;
mod roller;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::clock::{Clock, Micros};
use crate::fault::deployments::client::http::{ApiRequest, Http, Outcome};
use crate::fault::deployments::history::Request;
use crate::fault::deployments::load::Load;
use crate::fault::deployments::organization::{Organization, Person};
use crate::fault::fixture::parse_id;
use crate::fault::gates::definition::{Behavior, ENVIRONMENTS, PIPELINES, commit};
use crate::fault::gates::fixture::GateFixture;
use crate::fault::gates::history::{History, Place, Retry, Start};

/// After this time the client stops waiting and continues with something else.
const WAIT_TIMEOUT: Duration = Duration::from_secs(50);

/// State that all clients share.
pub(crate) struct Shared {
    pub(crate) fixture: GateFixture,
    pub(crate) http: Http,
    pub(crate) load: Load,
    pub(crate) clock: Clock,
    pub(crate) database_url: String,
    pub(crate) history: Mutex<History>,
}

impl Shared {
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Client {
    name: &'static str,
    number: usize,
    shared: Arc<Shared>,
    me: Person,
    rng: StdRng,
    keys: u32,
}

impl Client {
    pub(crate) fn new(
        (name, number): (&'static str, usize),
        me: &Person,
        shared: &Arc<Shared>,
        rng: StdRng,
    ) -> Self {
        Self { name, number, shared: Arc::clone(shared), me: me.clone(), rng, keys: 0 }
    }

    /// Requests a deployment, for which the client has a permit, and records the outcome. Returns the deployment if it
    /// was acknowledged.
    async fn deploy(
        &mut self,
        permit: usize,
        pipeline: &str,
        behavior: Behavior,
        allows_older: bool,
    ) -> Option<Uuid> {
        let commit = commit(permit, behavior);
        let mut body = json!({ "commitId": commit });
        if allows_older {
            body["allowOlder"] = true.into();
        }
        let path = Organization::path(&format!("/pipelines/{pipeline}/deployments"));
        let mut api_request = ApiRequest::post(path, Some(body));
        api_request.key = self.rng.random_ratio(3, 4).then(|| self.key());
        let sent_at = self.shared.clock.now();
        let outcome = self.send(&api_request).await;
        let mut request = Request { commit: commit.clone(), key: api_request.key, responses: Vec::new() };
        let mut start = Start { user: self.me.user, allows_older, sent_at, acknowledged_at: None };
        let mut made = None;
        match outcome {
            Outcome::Refused(_) => self.shared.load.put_back(),
            Outcome::Unknown => self.shared.load.settle(),
            Outcome::Done(record) => {
                start.acknowledged_at = Some(self.shared.clock.now());
                made = record["id"].as_str().and_then(parse_id);
                request.responses.extend(made);
                self.shared.load.settle();
            }
        }
        let mut history = self.shared.history();
        history.requests.push(request);
        history.starts.insert(commit, start);
        made
    }

    /// Retries a stage. Returns whether it was acknowledged.
    async fn retry(&mut self, deployment: Uuid, stage: &str, allows_older: bool) -> bool {
        // Recorded before it is sent, because it can have an effect before the response arrives.
        let retry = Retry { deployment, user: self.me.user, allows_older };
        self.shared.history().retries.push(retry);
        let path = Organization::path(&format!("/deployments/dep_{deployment}/stages/{stage}/retry"));
        let body = if allows_older { json!({ "allowOlder": true }) } else { json!({}) };
        matches!(self.change(ApiRequest::post(path, Some(body))).await, Outcome::Done(_))
    }

    /// Waits until a deployment has ended, and returns it.
    async fn wait_for_end(&mut self, deployment: Uuid) -> Option<Value> {
        let started = Instant::now();
        let path = Organization::path(&format!("/deployments/dep_{deployment}"));
        while started.elapsed() < WAIT_TIMEOUT {
            self.pause(300, 600).await;
            if let Outcome::Done(record) = self.send(&ApiRequest::get(path.clone())).await
                && record["endedAt"].is_string()
            {
                return Some(record);
            }
        }
        None
    }

    async fn send(&mut self, api_request: &ApiRequest) -> Outcome {
        let shared = Arc::clone(&self.shared);
        shared.http.send_until_known(&mut self.rng, &self.me.token, api_request).await
    }

    /// Sends a change that creates no deployment, and retries until its outcome is known.
    async fn change(&mut self, mut api_request: ApiRequest) -> Outcome {
        api_request.key = Some(self.key());
        self.send(&api_request).await
    }

    fn key(&mut self) -> String {
        self.keys += 1;
        format!("{}-{}-{}", self.name, self.number, self.keys)
    }

    fn is_closed(&self) -> bool {
        self.shared.load.is_closed()
    }

    fn random_place(&mut self) -> Place {
        let pipeline = PIPELINES[self.rng.random_range(0..PIPELINES.len())].slug;
        Place { pipeline, environment: ENVIRONMENTS[self.rng.random_range(0..ENVIRONMENTS.len())] }
    }

    async fn pause(&mut self, min: u64, max: u64) {
        let pause = Duration::from_millis(self.rng.random_range(min..max));
        tokio::time::sleep(pause).await;
    }
}

/// Returns a time as the API expects it.
fn timestamp(at: Micros) -> String {
    jiff::Timestamp::from_microsecond(at).unwrap_or_default().to_string()
}
