//! Sends one request and classifies its outcome.

use std::time::Duration;

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::client::wire;
use crate::fault::fixture::{LockFixture, parse_id};
use crate::fault::history::{Environment, Kind, Outcome, Refused, Response};

const TIMEOUT: Duration = Duration::from_secs(3);

/// Error codes that leave it open whether the transaction was committed.
const UNKNOWN: [&str; 3] = ["database_unavailable", "deadline_exceeded", "internal"];

/// A request that can be sent again unchanged.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The number of the first attempt.
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
    /// Two of three changes carry an idempotency key and can be repeated. The others use the fast path, where
    /// a claim or a release may be a single statement.
    pub(crate) fn is_keyed(&self) -> bool {
        self.kind.is_change() && !self.number.is_multiple_of(3)
    }
}

#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    bases: Vec<String>,
}

pub(crate) enum Sent {
    Done(Outcome),
    /// The connection was refused, so the request was never sent.
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
        fixture: &LockFixture,
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
        let response = match sending.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() && !error.is_timeout() => return Sent::NotConnected,
            Err(error) if error.is_timeout() => return Sent::Done(Outcome::Unknown("timeout")),
            Err(_) => return Sent::Done(Outcome::Unknown("connection")),
        };
        let status = response.status().as_u16();
        let Ok(bytes) = response.bytes().await else { return Sent::Done(Outcome::Unknown("cut off")) };
        Sent::Done(match status {
            200..=299 => read(fixture, request, &bytes)
                .map_or(Outcome::Unknown("unreadable answer"), |response| Outcome::Ok(Box::new(response))),
            _ => refused(status, &bytes),
        })
    }
}

impl Http {
    /// Sends a request that is not part of a client's history. Returns status and body, or `None` if the
    /// outcome is unknown.
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
        let response = sending.send().await.ok()?;
        let status = response.status().as_u16();
        let response: Value = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
        (!UNKNOWN.iter().any(|code| response["code"] == **code)).then_some((status, response))
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

fn read(fixture: &LockFixture, request: &Request, bytes: &[u8]) -> Option<Response> {
    let mut response = Response::default();
    match request.kind {
        Kind::Deploy | Kind::Cancel => {
            response.deployment = parse_id(&parse::<wire::Data<wire::Deployment>>(bytes)?.data.id);
        }
        Kind::GetEnvironment => {
            let environment = parse::<wire::Data<wire::Environment>>(bytes)?.data;
            response.locks.push((request.environment?, environment.lock.view()));
        }
        Kind::List => {
            let listed = parse::<wire::Data<Vec<wire::Environment>>>(bytes)?.data;
            response.locks.extend(listed.iter().filter_map(|environment| {
                let index = fixture.find(request.organization, &environment.env_name)?;
                Some((index, environment.lock.view()))
            }));
        }
        _ => {
            let session = parse::<wire::Data<wire::Session>>(bytes)?.data;
            response.session = Some(session.view()?);
            response.locks.push((request.environment?, session.lock.view()));
            response.displaced = session.displaced();
        }
    }
    Some(response)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}
