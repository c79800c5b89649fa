//! Sends one request and says what is known of its outcome.

use std::time::Duration;

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::client::wire;
use crate::fault::history::{Answer, Environment, Kind, Outcome, Refused};
use crate::fault::world::{World, parse_id};

const TIMEOUT: Duration = Duration::from_secs(3);

/// Who gave up waiting, or whose transaction broke off, does not know whether it was committed.
const UNKNOWN: [&str; 3] = ["database_unavailable", "deadline_exceeded", "internal"];

/// A request that can be sent again as it is.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Of the first attempt.
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    pub(crate) organization: usize,
    pub(crate) environment: Option<Environment>,
    pub(crate) session: Option<uuid::Uuid>,
    pub(crate) deployment: Option<uuid::Uuid>,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Option<String>,
}

impl Request {
    /// Two in three changes carry a key, and can be repeated. The others take the way of those who don't care to, on which
    /// a claim or a release may be a single statement.
    pub(crate) fn keyed(&self) -> bool {
        self.kind.changes() && !self.number.is_multiple_of(3)
    }
}

#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    bases: Vec<String>,
}

pub(crate) enum Sent {
    Done(Outcome),
    /// Nobody listens there: it was never sent.
    NotConnected,
}

impl Http {
    pub(crate) fn new(bases: Vec<String>) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).pool_max_idle_per_host(64);
        Ok(Self { client: client.build()?, bases })
    }

    pub(crate) fn servers(&self) -> usize {
        self.bases.len()
    }

    pub(crate) async fn send(
        &self,
        world: &World,
        (server, token): (usize, &str),
        request: &Request,
        key: Option<&str>,
    ) -> Sent {
        let url = format!("{}{}", self.bases[server], request.path);
        let mut sending = self.client.request(request.method.clone(), url).bearer_auth(token);
        if let Some(key) = key {
            sending = sending.header("Idempotency-Key", key);
        }
        if let Some(body) = &request.body {
            sending = sending.header("Content-Type", "application/json").body(body.clone());
        }
        let answer = match sending.send().await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() && !error.is_timeout() => return Sent::NotConnected,
            Err(error) if error.is_timeout() => return Sent::Done(Outcome::Unknown("timeout")),
            Err(_) => return Sent::Done(Outcome::Unknown("connection")),
        };
        let status = answer.status().as_u16();
        let Ok(bytes) = answer.bytes().await else { return Sent::Done(Outcome::Unknown("cut off")) };
        Sent::Done(match status {
            200..=299 => read(world, request, &bytes)
                .map_or(Outcome::Unknown("unreadable answer"), |answer| Outcome::Ok(Box::new(answer))),
            _ => refused(status, &bytes),
        })
    }
}

impl Http {
    /// A request that is no client's: status and answer, or nothing if it is not known what came of it.
    pub(crate) async fn call(
        &self,
        server: usize,
        token: &str,
        (method, path): (Method, &str),
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Option<(u16, Value)> {
        let mut sending =
            self.client.request(method, format!("{}{path}", self.bases[server])).bearer_auth(token);
        if let Some(key) = key {
            sending = sending.header("Idempotency-Key", key);
        }
        if let Some(body) = body {
            sending = sending.json(body);
        }
        let answer = sending.send().await.ok()?;
        let status = answer.status().as_u16();
        let answer: Value = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
        (!UNKNOWN.iter().any(|code| answer["code"] == **code)).then_some((status, answer))
    }
}

fn refused(status: u16, bytes: &[u8]) -> Outcome {
    let Some(problem) = parse::<wire::Problem>(bytes) else { return Outcome::Unknown("unreadable refusal") };
    match UNKNOWN.into_iter().find(|code| *code == problem.code) {
        Some(code) => Outcome::Unknown(code),
        None => Outcome::Refused(Box::new(Refused {
            status,
            lock: problem.lock.map(|lock| lock.view()),
            code: problem.code,
        })),
    }
}

fn read(world: &World, request: &Request, bytes: &[u8]) -> Option<Answer> {
    let mut answer = Answer::default();
    match request.kind {
        Kind::Deploy | Kind::Cancel => {
            answer.deployment = parse_id(&parse::<wire::Data<wire::Deployment>>(bytes)?.data.id);
        }
        Kind::GetEnvironment => {
            let environment = parse::<wire::Data<wire::Environment>>(bytes)?.data;
            answer.locks.push((request.environment?, environment.lock.view()));
        }
        Kind::List => {
            let listed = parse::<wire::Data<Vec<wire::Environment>>>(bytes)?.data;
            answer.locks.extend(listed.iter().filter_map(|environment| {
                let index = world.find(request.organization, &environment.env_name)?;
                Some((index, environment.lock.view()))
            }));
        }
        _ => {
            let session = parse::<wire::Data<wire::Session>>(bytes)?.data;
            answer.session = Some(session.view()?);
            answer.locks.push((request.environment?, session.lock.view()));
            answer.displaced = session.displaced();
        }
    }
    Some(answer)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}
