//! Sends requests to varying servers, and retries until the outcome is known.

use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use reqwest::Method;
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request is retried. Longer than any fault lasts.
const RETRY_TIMEOUT: Duration = Duration::from_secs(75);
/// Error codes that leave it open whether the request was carried out.
const UNKNOWN: [&str; 4] =
    ["database_unavailable", "deadline_exceeded", "internal", "idempotency_in_progress"];

#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    bases: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct ApiRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    /// With a key the request can be sent repeatedly.
    pub(crate) key: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The record in the response.
    Done(Value),
    /// Definitely nothing was changed. Contains the error code.
    Refused(String),
    Unknown,
}

impl ApiRequest {
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

    /// Sends the request. A repeatable request is retried until its outcome is known, each time at a random
    /// server.
    pub(crate) async fn send_until_known(
        &self,
        rng: &mut StdRng,
        token: &str,
        api_request: &ApiRequest,
    ) -> Outcome {
        let (started, mut unknown) = (Instant::now(), false);
        loop {
            let base = &self.bases[rng.random_range(0..self.bases.len())];
            match self.send(base, token, api_request).await {
                Some(Outcome::Unknown) => unknown = true,
                // After an attempt with an unknown outcome a rejection proves nothing: that attempt may still
                // be in progress.
                Some(Outcome::Refused(_)) if unknown => return Outcome::Unknown,
                Some(response) => return response,
                // The request was never sent.
                None => {}
            }
            let repeatable = api_request.key.is_some() || api_request.method == Method::GET || !unknown;
            if !repeatable || started.elapsed() > RETRY_TIMEOUT {
                return Outcome::Unknown;
            }
            tokio::time::sleep(Duration::from_millis(rng.random_range(100..1_000))).await;
        }
    }

    /// Returns `None` if the connection was refused.
    async fn send(&self, base: &str, token: &str, api_request: &ApiRequest) -> Option<Outcome> {
        let url = format!("{base}{}", api_request.path);
        let mut sending = self.client.request(api_request.method.clone(), url).bearer_auth(token);
        if let Some(key) = &api_request.key {
            sending = sending.header("Idempotency-Key", key);
        }
        if let Some(body) = &api_request.body {
            sending = sending.json(body);
        }
        let response = match sending.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() && !error.is_timeout() => return None,
            Err(_) => return Some(Outcome::Unknown),
        };
        let good = response.status().is_success();
        let Ok(text) = response.text().await else { return Some(Outcome::Unknown) };
        let Ok(body) = serde_json::from_str::<Value>(&text) else { return Some(Outcome::Unknown) };
        if good {
            return Some(Outcome::Done(body.get("data").unwrap_or(&body).clone()));
        }
        let code = body["code"].as_str().unwrap_or("internal");
        Some(if UNKNOWN.contains(&code) { Outcome::Unknown } else { Outcome::Refused(code.to_owned()) })
    }
}
