//! A response with the checks of these tests, and helpers that send requests.

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;

use crate::support::TestServer;

#[derive(Clone, Debug)]
pub struct TestResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// Null if the response is not JSON.
    pub json: Value,
}

impl TestResponse {
    pub async fn of(mut response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let streams = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        let mut bytes = Vec::new();
        // The body of a stream does not end.
        while !streams && let Some(chunk) = response.chunk().await.unwrap() {
            bytes.extend_from_slice(&chunk);
        }
        let text = String::from_utf8(bytes).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Self { status, headers, text, json }
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }

    /// A field of the one record.
    pub fn field(&self, name: &str) -> String {
        self.json["data"][name].as_str().unwrap_or_default().to_owned()
    }

    /// Returns what is wrong if the response is not the expected refusal.
    pub fn not_refused_as(&self, status: u16, code: &str) -> Option<String> {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let body_status = self.json["status"].as_u64().unwrap_or_default();
        if (self.status, self.code(), kind, body_status)
            == (status, code, "application/problem+json", status.into())
        {
            None
        } else {
            Some(format!("expected {status} {code} as a problem, got {} {kind} {}", self.status, self.text))
        }
    }

    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) {
        assert_eq!(self.not_refused_as(status, code), None);
    }

    #[track_caller]
    pub fn succeeded(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Returns everything by which a client can distinguish two responses, without request ids and other
    /// unique values.
    pub fn comparable(&self) -> (u16, Vec<(String, String)>, Value) {
        let mut headers: Vec<(String, String)> = self
            .headers
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "x-request-id" | "date"))
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        headers.sort();
        let mut body = self.json.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("requestId");
        }
        (self.status, headers, body)
    }
}

impl TestServer {
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> TestResponse {
        TestResponse::of(self.send(method, path, token, body).await).await
    }

    pub async fn get(&self, path: &str, token: &str) -> TestResponse {
        self.request(Method::GET, path, Some(token), None).await
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> TestResponse {
        self.request(Method::POST, path, Some(token), Some(body)).await
    }

    pub async fn patch(&self, path: &str, token: &str, body: Value) -> TestResponse {
        self.request(Method::PATCH, path, Some(token), Some(body)).await
    }

    pub async fn delete(&self, path: &str, token: &str) -> TestResponse {
        self.request(Method::DELETE, path, Some(token), None).await
    }

    /// Stops the server, so that its database can be dropped.
    pub async fn stop(self) {
        self.server.stop(std::time::Duration::ZERO).await;
    }
}
