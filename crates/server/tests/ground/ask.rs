//! Short ways to ask the server, and to read what it says.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Caller, DEFINITION, TestServer, eventually};

impl TestServer {
    /// A request of the caller's, to a path below the caller's organization.
    pub fn ask(&self, caller: &Caller, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/organizations/{}{path}", self.base, caller.organization);
        self.client.request(method, url).bearer_auth(&caller.token)
    }

    /// The whole of a good answer.
    pub async fn get(&self, caller: &Caller, path: &str) -> Value {
        good(self.ask(caller, Method::GET, path).send().await.unwrap(), 200).await
    }

    /// A command that succeeds, and the record that it answers with.
    pub async fn post(&self, caller: &Caller, path: &str, body: Value) -> Value {
        let response = self.ask(caller, Method::POST, path).json(&body).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
        response.json::<Value>().await.unwrap()["data"].take()
    }

    /// A probe's or page's status, by its path from the root.
    pub async fn status(&self, path: &str) -> u16 {
        self.client.get(format!("{}{path}", self.origin)).send().await.unwrap().status().as_u16()
    }

    pub async fn is_ready(&self) -> bool {
        self.status("/readyz").await == 200
    }

    /// Waits until all that was told has its place.
    pub async fn events_are_sequenced(&self, pool: &PgPool) {
        let settled = eventually(Duration::from_secs(20), || async {
            let waiting = sqlx::query_scalar::<_, i64>("select count(*) from event_intake");
            waiting.fetch_one(pool).await.unwrap() == 0
        });
        assert!(settled.await, "the sequencer left events behind");
    }

    /// Everything that the caller may see and that has been told so far, oldest first.
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

    /// The newest sequence, once all that was told has its place.
    pub async fn head(&self, pool: &PgPool, caller: &Caller) -> i64 {
        self.events(pool, caller).await.last().map_or(0, |event| event["sequence"].as_i64().unwrap())
    }

    /// Stops the server and closes its connections, so that the test's database can be dropped.
    pub async fn end(self) {
        let store = self.server.app.store.clone();
        self.server.stop(Duration::ZERO).await;
        // Connections that an outage has buried are not waited for.
        let _ = tokio::time::timeout(Duration::from_secs(5), store.close()).await;
    }
}

pub fn new_pipeline(name: &str) -> Value {
    json!({ "name": name, "definition": DEFINITION })
}

pub fn header(response: &Response, name: &str) -> String {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned()
}

pub async fn good(response: Response, status: u16) -> Value {
    let found = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(found, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// What every problem has, whatever it is about.
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
    for words in ["title", "detail"] {
        assert!(body[words].as_str().is_some_and(|words| words.len() > 3), "{words}: {text}");
    }
    body
}

/// A problem that names one wrong field or parameter.
pub async fn wrong_field(response: Response, pointer: &str) -> Value {
    let body = problem(response, 422, "invalid_request").await;
    assert_eq!(body["errors"][0]["pointer"], pointer, "{body}");
    body
}
