//! A client: claims environments and deploys into them, or starts whole pipelines; follows what it has begun, cancels some of it,
//! and tries again what failed.

mod follow;
pub(crate) mod http;
mod meddle;
mod trials;
mod visit;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::deployments::client::http::{Answer, Asking, Http};
use crate::fault::deployments::definition::PIPELINES;
use crate::fault::deployments::history::{History, Request};
use crate::fault::deployments::load::Load;
use crate::fault::deployments::world::{Person, World};
use crate::fault::world::parse_id;

/// What all clients share.
pub(crate) struct Shared {
    pub(crate) world: World,
    pub(crate) http: Http,
    pub(crate) load: Load,
    /// The newest deployments in sessions, for those who meddle with others'.
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

/// What came of asking for a deployment.
enum Asked {
    /// It is there, and the answer said this.
    Accepted(Uuid, Value),
    Refused(String),
    Unknown,
}

impl Client {
    pub(crate) fn new(number: usize, shared: Arc<Shared>, rng: StdRng) -> Self {
        let me = shared.world.people[number].clone();
        Self { number, shared, me, rng, keys: 0, history: History::default() }
    }

    /// Goes on until there is nothing more to ask for. What it asked.
    pub(crate) async fn run(mut self) -> History {
        while !self.shared.load.is_closed() {
            // One in three starts pipelines as a whole, without any environment.
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
        // Mostly the one that has no environments, where nobody waits for anybody.
        let chosen = if self.rng.random_ratio(1, 2) {
            PIPELINES.len() - 1
        } else {
            self.rng.random_range(0..PIPELINES.len())
        };
        let path = World::path(&format!("/pipelines/{}/deployments", PIPELINES[chosen].slug));
        let body = json!({ "branch": "main" });
        if let Asked::Accepted(deployment, _) = self.ask_for(commit, path, body).await {
            self.follow(deployment, None).await;
        }
    }

    /// Asks for a deployment of a commit of its own, and notes what came of it.
    async fn ask_for(&mut self, commit: usize, path: String, body: Value) -> Asked {
        let asked = self.ask_uncounted(commit, path, body).await;
        match asked {
            Asked::Refused(_) => self.shared.load.put_back(),
            _ => self.shared.load.settle(),
        }
        asked
    }

    /// The same for one that is beside those which are counted.
    async fn ask_uncounted(&mut self, commit: usize, path: String, mut body: Value) -> Asked {
        let Some(commit) = self.shared.world.commits.get(commit).cloned() else {
            return Asked::Unknown;
        };
        body["commitId"] = commit.clone().into();
        let mut asking = Asking::post(path, Some(body));
        asking.key = self.rng.random_ratio(3, 4).then(|| self.key());
        let answer = self.ask(&asking).await;
        let mut request = Request { commit, key: asking.key.clone(), answers: Vec::new() };
        let asked = match answer {
            Answer::Done(record) => match deployment_in(&record) {
                Some(id) => {
                    request.answers.push(id);
                    Asked::Accepted(id, record)
                }
                // A claim that was granted without its deployment would be a mistake, and is found as such.
                None => Asked::Unknown,
            },
            Answer::Refused(code) => Asked::Refused(code),
            Answer::Unknown => Asked::Unknown,
        };
        // Who is not sure that it was heard says it again, and must be told the same.
        if asking.key.is_some()
            && matches!(asked, Asked::Accepted(..))
            && self.rng.random_ratio(1, 4)
            && let Answer::Done(record) = self.ask(&asking).await
        {
            request.answers.extend(deployment_in(&record));
        }
        self.history.requests.push(request);
        asked
    }

    async fn ask(&mut self, asking: &Asking) -> Answer {
        let shared = Arc::clone(&self.shared);
        shared.http.ask(&mut self.rng, &self.me.token, asking).await
    }

    /// A change that no deployment is made by, repeated until its outcome is known.
    async fn change(&mut self, mut asking: Asking) -> Answer {
        asking.key = Some(self.key());
        self.ask(&asking).await
    }

    fn key(&mut self) -> String {
        self.keys += 1;
        format!("client-{}-{}", self.number, self.keys)
    }

    async fn pause(&mut self, least: u64, most: u64) {
        let pause = Duration::from_millis(self.rng.random_range(least..most));
        tokio::time::sleep(pause).await;
    }
}

/// Of a deployment's record, or of that of a session which was claimed with one.
fn deployment_in(record: &Value) -> Option<Uuid> {
    let id = record["deployments"][0]["id"].as_str().or_else(|| record["id"].as_str())?;
    parse_id(id)
}
