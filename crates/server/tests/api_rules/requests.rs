//! Helpers that send requests and check responses.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Caller, DEFINITION, TestServer, eventually};

impl TestServer {
    /// Builds a request of the caller to a path of the caller's organization.
    pub fn request(&self, caller: &Caller, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/organizations/{}{path}", self.base, caller.organization);
        self.client.request(method, url).bearer_auth(&caller.token)
    }

    /// Returns the body of a successful response.
    pub async fn get(&self, caller: &Caller, path: &str) -> Value {
        success(self.request(caller, Method::GET, path).send().await.unwrap(), 200).await
    }

    /// Sends a command that has to succeed. Returns the record in its response.
    pub async fn post(&self, caller: &Caller, path: &str, body: Value) -> Value {
        let response = self.request(caller, Method::POST, path).json(&body).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
        response.json::<Value>().await.unwrap()["data"].take()
    }

    /// Returns the status of a probe or page. The path is absolute.
    pub async fn status(&self, path: &str) -> u16 {
        self.client.get(format!("{}{path}", self.origin)).send().await.unwrap().status().as_u16()
    }

    pub async fn is_ready(&self) -> bool {
        self.status("/readyz").await == 200
    }

    /// Waits until all recorded events are sequenced.
    pub async fn events_are_sequenced(&self, pool: &PgPool) {
        let sequenced = eventually(Duration::from_secs(20), || async {
            let waiting = sqlx::query_scalar::<_, i64>("select count(*) from event_intake");
            waiting.fetch_one(pool).await.unwrap() == 0
        });
        assert!(sequenced.await, "events are not sequenced");
    }

    /// Returns all events so far that the caller may see, oldest first.
    pub async fn events(&self, pool: &PgPool, caller: &Caller) -> Vec<Value> {
        self.events_are_sequenced(pool).await;
        let mut events: Vec<Value> = Vec::new();
        loop {
            let after = events.last().map_or(0, |event| event["sequence"].as_i64().unwrap());
            let page = self.get(caller, &format!("/events?limit=100&after={after}")).await;
            let page = page["data"].as_array().unwrap().clone();
            if page.is_empty() {
                return events;
            }
            events.extend(page);
        }
    }

    /// Returns the newest sequence, once all recorded events are sequenced.
    pub async fn head(&self, pool: &PgPool, caller: &Caller) -> i64 {
        self.events(pool, caller).await.last().map_or(0, |event| event["sequence"].as_i64().unwrap())
    }

    /// Stops the server and closes its connections, so that the test's database can be dropped.
    pub async fn end(self) {
        let store = self.server.app.store.clone();
        self.server.stop(Duration::ZERO).await;
        // Connections that an outage has broken are not waited for.
        let _ = tokio::time::timeout(Duration::from_secs(5), store.close()).await;
    }
}

pub fn new_pipeline(name: &str) -> Value {
    json!({ "name": name, "definition": DEFINITION })
}

pub fn header(response: &Response, name: &str) -> String {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned()
}

pub async fn success(response: Response, status: u16) -> Value {
    let found = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(found, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Checks the fields that every problem has.
pub async fn problem(response: Response, status: u16, code: &str) -> Value {
    let (found, id, kind) =
        (response.status(), header(&response, "x-request-id"), header(&response, "content-type"));
    let text = response.text().await.unwrap();
    assert_eq!(found, status, "{code}: {text}");
    assert_eq!(kind, "application/problem+json", "{code}: {text}");
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["code"], code, "{text}");
    assert_eq!(body["status"], status, "{text}");
    assert_eq!(body["type"], format!("/docs/errors/{code}"));
    assert_eq!(body["requestId"], id.as_str());
    assert!(id.len() >= 8, "{text}");
    for field in ["title", "detail"] {
        assert!(body[field].as_str().is_some_and(|field| field.len() > 3), "{field}: {text}");
    }
    body
}

/// Checks a problem that names one invalid field or parameter.
pub async fn wrong_field(response: Response, pointer: &str) -> Value {
    let body = problem(response, 422, "invalid_request").await;
    assert_eq!(body["errors"][0]["pointer"], pointer, "{body}");
    body
}
