//! Requests at a steady rate while the stack is changed: claims, releases and reads in an organization of their own. What was
//! accepted has to be stored afterwards.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use uuid::Uuid;

use crate::fault::deployments::client::http::{ApiRequest, Http, Outcome};
use crate::fault::deployments::organization::text_field;
use crate::fault::deployments::stack::Stack;
use crate::fault::finding::Finding;
use crate::fault::fixture::parse_id;
use crate::parts::api::Api;

const CLIENTS: u32 = 15;
const REQUESTS_PER_SECOND: u32 = 150;
/// How long a client repeats what is refused for a moment.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const BUSY_DELAY: Duration = Duration::from_millis(250);
/// A claim, reads, and the release.
const REQUESTS_PER_SESSION: u32 = 8;
const PATH: &str = "/organizations/load/pipelines/load/ephemeral-environments";

pub(super) struct SteadyLoad {
    ended: watch::Sender<bool>,
    clients: JoinSet<History>,
    url: String,
    started: Instant,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadFigures {
    requests: usize,
    per_second: f64,
    /// Those without a known outcome within the time of their client, or with one that has no reason.
    failed: usize,
    /// How often a server refused for a moment, such as while a migration had a table's lock, and the client repeated it.
    busy: u64,
    /// Claims and releases that were accepted, and how many of them are not stored.
    accepted: usize,
    lost: usize,
    p95_millis: u64,
    /// With the repetitions that a client needs while a server is replaced.
    longest_millis: u64,
}

#[derive(Default)]
struct History {
    millis: Vec<u64>,
    busy: u64,
    failures: Vec<String>,
    claimed: Vec<Uuid>,
    released: Vec<Uuid>,
}

struct Client {
    number: u32,
    http: Http,
    token: Arc<str>,
    rng: StdRng,
    keys: u32,
    history: History,
}

impl SteadyLoad {
    pub(super) async fn start(stack: &Stack) -> anyhow::Result<Self> {
        let owner = ["--owner-email", "load@example.test", "--owner-name", "Load"];
        let made =
            stack.admin_json(&[&["admin", "bootstrap", "--slug", "load"], &owner[..]].concat()).await?;
        let token: Arc<str> = text_field(&made, "token")?.into();
        let environments: String = (0..CLIENTS).map(|number| format!("env-{number}: {{}}, ")).collect();
        let definition = format!(
            "ephemeralEnvironments: {{ {environments} }}\nstages:\n  build:\n    steps: [{{ image: a, run: b }}]\n"
        );
        let body = json!({ "name": "Load", "slug": "load", "definition": definition });
        let api = Api::new(stack.servers[0].base_url())?;
        api.call_ok(Method::POST, "/organizations/load/pipelines", &token, Some(&body)).await?;
        let (http, mut clients, ended) =
            (Http::new(stack.base_urls())?, JoinSet::new(), watch::Sender::new(false));
        for number in 0..CLIENTS {
            let rng = StdRng::seed_from_u64(u64::from(number));
            let (http, token, history) = (http.clone(), Arc::clone(&token), History::default());
            let client = Client { number, http, token, rng, keys: 0, history };
            clients.spawn(client.run(ended.subscribe()));
        }
        Ok(Self { ended, clients, url: stack.postgres.url(), started: Instant::now() })
    }

    /// Ends the clients, and compares the responses with what is stored.
    pub(super) async fn end(mut self) -> anyhow::Result<(LoadFigures, Vec<Finding>)> {
        let seconds = self.started.elapsed().as_secs_f64();
        self.ended.send_replace(true);
        let mut all = History::default();
        while let Some(history) = self.clients.join_next().await {
            let history = history?;
            all.millis.extend(history.millis);
            all.busy += history.busy;
            all.failures.extend(history.failures);
            all.claimed.extend(history.claimed);
            all.released.extend(history.released);
        }
        let mut connection = PgConnection::connect(&self.url).await?;
        let lost = sqlx::query_scalar::<_, Uuid>(
            "select id from unnest($1::uuid[]) id where not exists (select from sessions s where s.id = id.id)
             union all
             select id from unnest($2::uuid[]) id
             where not exists (select from sessions s where s.id = id.id and s.status = 'released')",
        );
        let lost = lost.bind(&all.claimed).bind(&all.released).fetch_all(&mut connection).await?;
        all.millis.sort_unstable();
        let figures = LoadFigures {
            requests: all.millis.len(),
            per_second: all.millis.len() as f64 / seconds,
            failed: all.failures.len(),
            busy: all.busy,
            accepted: all.claimed.len() + all.released.len(),
            lost: lost.len(),
            p95_millis: all.millis.get(all.millis.len() * 95 / 100).copied().unwrap_or_default(),
            longest_millis: all.millis.last().copied().unwrap_or_default(),
        };
        let lost = lost.iter().map(|id| format!("the session {id} was accepted, and is not stored so"));
        let findings = lost.map(|text| Finding::new("U1", text));
        let failed = all.failures.into_iter().map(|text| Finding::new("U2", text));
        Ok((figures, findings.chain(failed).collect()))
    }
}

impl Client {
    async fn run(mut self, ended: watch::Receiver<bool>) -> History {
        let mut ticks = tokio::time::interval(Duration::from_secs(1) * CLIENTS / REQUESTS_PER_SECOND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let path = format!("{PATH}/env-{}/sessions", self.number);
        while !*ended.borrow() {
            ticks.tick().await;
            let claim = ApiRequest::post(path.clone(), Some(json!({ "ttlSeconds": 3600 })));
            let Some(claimed) = self.send(claim).await else { continue };
            let Some(session) = claimed["sessionId"].as_str() else { continue };
            self.history.claimed.extend(parse_id(session));
            for _ in 2..REQUESTS_PER_SESSION {
                ticks.tick().await;
                let read = match self.rng.random_range(0..3) {
                    0 => PATH.to_owned(),
                    1 => format!("{path}/{session}"),
                    _ => "/organizations/load/pipelines".to_owned(),
                };
                self.send(ApiRequest::get(read)).await;
            }
            ticks.tick().await;
            let mut release = ApiRequest::post(format!("{path}/{session}"), None);
            release.method = Method::DELETE;
            if self.send(release).await.is_some() {
                self.history.released.extend(parse_id(session));
            }
        }
        self.history
    }

    /// Sends a request until its outcome is known, and returns its record.
    async fn send(&mut self, mut request: ApiRequest) -> Option<serde_json::Value> {
        if request.method != Method::GET {
            self.keys += 1;
            request.key = Some(format!("load-{}-{}", self.number, self.keys));
        }
        let sent = Instant::now();
        let outcome = loop {
            let outcome = self.http.send_until_known(&mut self.rng, &self.token, &request).await;
            let is_busy =
                matches!(&outcome, Outcome::Refused(code) if code == "busy" || code == "overloaded");
            if !is_busy || sent.elapsed() > BUSY_TIMEOUT {
                break outcome;
            }
            self.history.busy += 1;
            tokio::time::sleep(BUSY_DELAY).await;
        };
        self.history.millis.push(u64::try_from(sent.elapsed().as_millis()).unwrap_or(u64::MAX));
        match outcome {
            Outcome::Done(record) => return Some(record),
            Outcome::Refused(code) => {
                self.history.failures.push(format!("{} {}: {code}", request.method, request.path));
            }
            Outcome::Unknown => {
                self.history.failures.push(format!("{} {}: no known outcome", request.method, request.path));
            }
        }
        None
    }
}
