//! A client: claims environments and deploys into them, or starts whole pipelines. It follows what it has
//! started, cancels some of it, and retries what failed.

mod follow;
mod foreign_action;
pub(crate) mod http;
mod trials;
mod visit;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::deployments::client::http::{ApiRequest, Http, Outcome};
use crate::fault::deployments::definition::PIPELINES;
use crate::fault::deployments::fixture::DeploymentFixture;
use crate::fault::deployments::history::{History, Request};
use crate::fault::deployments::load::Load;
use crate::fault::deployments::organization::Person;
use crate::fault::fixture::parse_id;

/// State that all clients share.
pub(crate) struct Shared {
    pub(crate) fixture: DeploymentFixture,
    pub(crate) http: Http,
    pub(crate) load: Load,
    /// The newest deployments in sessions, for clients that act on others' deployments.
    pub(crate) board: Mutex<VecDeque<(Uuid, Uuid)>>,
}

pub(crate) struct Client {
    number: usize,
    shared: Arc<Shared>,
    me: Person,
    rng: StdRng,
    keys: u32,
    history: History,
}

/// The outcome of a request for a deployment.
enum DeploymentOutcome {
    /// The deployment exists; contains the response.
    Accepted(Uuid, Value),
    Refused(String),
    Unknown,
}

impl Client {
    pub(crate) fn new(number: usize, shared: Arc<Shared>, rng: StdRng) -> Self {
        let me = shared.fixture.people[number].clone();
        Self { number, shared, me, rng, keys: 0, history: History::default() }
    }

    /// Runs until no more deployments are to be requested. Returns the recorded requests.
    pub(crate) async fn run(mut self) -> History {
        while !self.shared.load.is_closed() {
            // One in three starts whole pipelines, without an environment.
            if self.number.is_multiple_of(3) {
                self.start_pipeline().await;
            } else {
                self.visit().await;
            }
        }
        self.history
    }

    async fn start_pipeline(&mut self) {
        let Some(commit) = self.shared.load.take().await else { return };
        // Mostly the pipeline without environments, where deployments do not wait for each other.
        let chosen = if self.rng.random_ratio(1, 2) {
            PIPELINES.len() - 1
        } else {
            self.rng.random_range(0..PIPELINES.len())
        };
        let path = DeploymentFixture::path(&format!("/pipelines/{}/deployments", PIPELINES[chosen].slug));
        let body = json!({ "branch": "main" });
        if let DeploymentOutcome::Accepted(deployment, _) = self.request_deployment(commit, path, body).await
        {
            self.follow(deployment, None).await;
        }
    }

    /// Requests a deployment of a commit that no other request uses, and records the outcome.
    async fn request_deployment(&mut self, commit: usize, path: String, body: Value) -> DeploymentOutcome {
        let outcome = self.request_uncounted_deployment(commit, path, body).await;
        match outcome {
            DeploymentOutcome::Refused(_) => self.shared.load.put_back(),
            _ => self.shared.load.settle(),
        }
        outcome
    }

    /// The same for a deployment that does not count towards the load.
    async fn request_uncounted_deployment(
        &mut self,
        commit: usize,
        path: String,
        mut body: Value,
    ) -> DeploymentOutcome {
        let Some(commit) = self.shared.fixture.commits.get(commit).cloned() else {
            return DeploymentOutcome::Unknown;
        };
        body["commitId"] = commit.clone().into();
        let mut api_request = ApiRequest::post(path, Some(body));
        api_request.key = self.rng.random_ratio(3, 4).then(|| self.key());
        let response = self.send(&api_request).await;
        let mut request = Request { commit, key: api_request.key.clone(), responses: Vec::new() };
        let outcome = match response {
            Outcome::Done(record) => match deployment_in(&record) {
                Some(id) => {
                    request.responses.push(id);
                    DeploymentOutcome::Accepted(id, record)
                }
                // A claim that was granted without its deployment would be a defect, and is found as such.
                None => DeploymentOutcome::Unknown,
            },
            Outcome::Refused(code) => DeploymentOutcome::Refused(code),
            Outcome::Unknown => DeploymentOutcome::Unknown,
        };
        // A client may repeat a request after a response, too. The second response must be the same.
        if api_request.key.is_some()
            && matches!(outcome, DeploymentOutcome::Accepted(..))
            && self.rng.random_ratio(1, 4)
            && let Outcome::Done(record) = self.send(&api_request).await
        {
            request.responses.extend(deployment_in(&record));
        }
        self.history.requests.push(request);
        outcome
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
        format!("client-{}-{}", self.number, self.keys)
    }

    async fn pause(&mut self, min: u64, max: u64) {
        let pause = Duration::from_millis(self.rng.random_range(min..max));
        tokio::time::sleep(pause).await;
    }
}

/// Returns the deployment's id from its own record, or from the record of a session that was claimed with a
/// commit.
fn deployment_in(record: &Value) -> Option<Uuid> {
    let id = record["deployments"][0]["id"].as_str().or_else(|| record["id"].as_str())?;
    parse_id(id)
}
