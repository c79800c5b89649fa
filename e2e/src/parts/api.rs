//! The API, as a client of it that is not ours would call it.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) struct Api {
    /// With `/api/v1`.
    base: String,
    http: reqwest::Client,
}

#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    /// All of it, or null if it is no JSON.
    pub(crate) body: Value,
}

impl Said {
    pub(crate) const fn is_good(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// The record, or the whole answer if there is none.
    pub(crate) fn data(&self) -> &Value {
        self.body.get("data").unwrap_or(&self.body)
    }
}

impl Api {
    pub(crate) fn new(base: String) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().connect_timeout(PATIENCE).build()?;
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
    ) -> anyhow::Result<Said> {
        let mut request = self.request(method.clone(), path, token).timeout(PATIENCE);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.with_context(|| format!("{method} {path} was not answered"))?;
        let status = response.status().as_u16();
        let text =
            response.text().await.with_context(|| format!("{method} {path} was not answered to its end"))?;
        Ok(Said { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) })
    }

    /// The record of a call that has to go well.
    pub(crate) async fn done(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let said = self.call(method.clone(), path, token, body).await?;
        if !said.is_good() {
            bail!("{method} {path} was answered {} {:#}", said.status, said.body);
        }
        Ok(said.data().clone())
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> anyhow::Result<Value> {
        self.done(Method::GET, path, token, None).await
    }
}
