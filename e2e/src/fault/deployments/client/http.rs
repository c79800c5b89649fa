//! Sends requests, to one server or another, and goes on asking until the outcome is known.

use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use reqwest::Method;
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(5);
/// How long to go on asking. Longer than any fault lasts.
const PATIENCE: Duration = Duration::from_secs(75);
/// Who is told this does not know whether it was carried out.
const UNKNOWN: [&str; 4] =
    ["database_unavailable", "deadline_exceeded", "internal", "idempotency_in_progress"];

#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    bases: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    /// With a key it may be sent as often as it takes.
    pub(crate) key: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The record.
    Done(Value),
    /// Definitely nothing was changed. The code says why.
    Refused(String),
    Unknown,
}

impl Asking {
    pub(crate) fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: None, key: None }
    }

    pub(crate) fn post(path: String, body: Option<Value>) -> Self {
        Self { method: Method::POST, path, body, key: None }
    }
}

impl Http {
    pub(crate) fn new(bases: Vec<String>) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
        Ok(Self { client, bases })
    }

    /// What can be repeated is repeated until its outcome is known, each time at a server by chance.
    pub(crate) async fn ask(&self, rng: &mut StdRng, token: &str, asking: &Asking) -> Answer {
        let (started, mut unknown) = (Instant::now(), false);
        loop {
            let base = &self.bases[rng.random_range(0..self.bases.len())];
            match self.send(base, token, asking).await {
                Some(Answer::Unknown) => unknown = true,
                // Said after an attempt that nobody knows the end of, and which may still be under way.
                Some(Answer::Refused(_)) if unknown => return Answer::Unknown,
                Some(answer) => return answer,
                // It was never sent.
                None => {}
            }
            let repeatable = asking.key.is_some() || asking.method == Method::GET || !unknown;
            if !repeatable || started.elapsed() > PATIENCE {
                return Answer::Unknown;
            }
            tokio::time::sleep(Duration::from_millis(rng.random_range(100..1_000))).await;
        }
    }

    /// None: nobody listens there.
    async fn send(&self, base: &str, token: &str, asking: &Asking) -> Option<Answer> {
        let url = format!("{base}{}", asking.path);
        let mut sending = self.client.request(asking.method.clone(), url).bearer_auth(token);
        if let Some(key) = &asking.key {
            sending = sending.header("Idempotency-Key", key);
        }
        if let Some(body) = &asking.body {
            sending = sending.json(body);
        }
        let answer = match sending.send().await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() && !error.is_timeout() => return None,
            Err(_) => return Some(Answer::Unknown),
        };
        let good = answer.status().is_success();
        let Ok(text) = answer.text().await else { return Some(Answer::Unknown) };
        let Ok(body) = serde_json::from_str::<Value>(&text) else { return Some(Answer::Unknown) };
        if good {
            return Some(Answer::Done(body.get("data").unwrap_or(&body).clone()));
        }
        let code = body["code"].as_str().unwrap_or("internal");
        Some(if UNKNOWN.contains(&code) { Answer::Unknown } else { Answer::Refused(code.to_owned()) })
    }
}
