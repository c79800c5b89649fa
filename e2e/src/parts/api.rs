//! An independent client of the API, which does not use the project's client crate.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) struct Api {
    /// The URL with `/api/v1`.
    base: String,
    http: reqwest::Client,
}

#[derive(Clone, Debug)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    /// The whole body, or null if it is not JSON.
    pub(crate) body: Value,
}

impl ApiResponse {
    pub(crate) const fn is_good(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// Returns the record, or the whole body if there is none.
    pub(crate) fn data(&self) -> &Value {
        self.body.get("data").unwrap_or(&self.body)
    }
}

impl Api {
    pub(crate) fn new(base: String) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().connect_timeout(TIMEOUT).build()?;
        Ok(Self { base, http })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        let rest = self.base.trim_start_matches("http://");
        rest.split_once('/').map_or(rest, |(address, _)| address)
    }

    pub(crate) fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(token)
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<ApiResponse> {
        let mut request = self.request(method.clone(), path, token).timeout(TIMEOUT);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.with_context(|| format!("{method} {path} got no response"))?;
        let status = response.status().as_u16();
        let text =
            response.text().await.with_context(|| format!("{method} {path} got an incomplete response"))?;
        Ok(ApiResponse { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) })
    }

    /// Returns the record of a call that has to succeed.
    pub(crate) async fn call_ok(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let response = self.call(method.clone(), path, token, body).await?;
        if !response.is_good() {
            bail!("{method} {path} returned {} {:#}", response.status, response.body);
        }
        Ok(response.data().clone())
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> anyhow::Result<Value> {
        self.call_ok(Method::GET, path, token, None).await
    }
}
