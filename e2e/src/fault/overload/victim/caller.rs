//! The victim's requests to the API, each of them recorded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;

use crate::fault::overload::victim::recorder::{Call, Operation, Recorder};

/// Longer than the server's own deadline of a request.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub(crate) struct Caller {
    http: reqwest::Client,
    /// The URL with `/api/v1`.
    base: String,
    token: String,
    pub(crate) recorder: Arc<Recorder>,
}

pub(crate) struct Reply {
    pub(crate) status: Option<u16>,
    /// The response's `data` if the request succeeded, otherwise its problem document; null if there was no
    /// response or its body is not JSON.
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn is_good(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.body[key].as_str().map(str::to_owned)
    }
}

impl Caller {
    pub(crate) fn new(base: String, token: String, recorder: Arc<Recorder>) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
        Ok(Self { http, base, token, recorder })
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Operation::Read, Method::GET, path, |request| request).await
    }

    pub(crate) async fn post(&self, operation: Operation, path: &str, body: &Value) -> Reply {
        self.send(operation, Method::POST, path, |request| request.json(body)).await
    }

    pub(crate) async fn send(
        &self,
        operation: Operation,
        method: Method,
        path: &str,
        complete: impl FnOnce(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
    ) -> Reply {
        let at = Instant::now();
        let request = self.http.request(method.clone(), format!("{}{path}", self.base));
        let (status, text) = match complete(request.bearer_auth(&self.token)).send().await {
            Ok(response) => {
                let status = response.status().as_u16();
                match response.text().await {
                    Ok(text) => (Some(status), text),
                    Err(error) => (None, format!("{error:#}")),
                }
            }
            Err(error) => (None, format!("{error:#}")),
        };
        let call = Call { at, took: at.elapsed(), operation, status };
        if !call.is_good() {
            self.recorder.complain(format!("{method} {path}: {status:?} after {:?}: {text}", call.took));
        }
        self.recorder.call(call);
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let body = body.get("data").cloned().unwrap_or(body);
        Reply { status, body }
    }
}
