//! The fixture: a server, an organization with members, and a pipeline with environments to claim.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Caller, TestServer};

/// In `qa-1` people keep a place for as long as programs, so that the holder's lease outlasts places that time out.
pub const DEFINITION: &str = "ephemeralEnvironments:\n  qa-1: { lease: { default: 1h, max: 2h }, queue: { maxStay: 2m } }\n  \"pr-*\": { max: 2 }\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n";

pub struct EnvironmentFixture {
    pub server: TestServer,
    pub pool: PgPool,
    pub owner: Caller,
    pub dev: Caller,
    pub mate: Caller,
    pub pipeline: String,
}

pub struct Reply {
    pub status: u16,
    pub json: Value,
}

/// The response to a request with an `Idempotency-Key`.
pub struct KeyedReply {
    pub reply: Reply,
    pub is_replayed: bool,
}

impl Reply {
    #[track_caller]
    pub fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.json);
        self.json
    }

    #[track_caller]
    pub fn session(&self) -> String {
        assert!(matches!(self.status, 201 | 202), "{} {}", self.status, self.json);
        self.json["data"]["sessionId"].as_str().unwrap().to_owned()
    }
}

impl EnvironmentFixture {
    pub async fn new(pool: &PgPool) -> Self {
        Self::with(pool, DEFINITION).await
    }

    pub async fn with(pool: &PgPool, definition: &str) -> Self {
        Self::on(TestServer::start(pool).await, pool, definition).await
    }

    pub async fn on(server: TestServer, pool: &PgPool, definition: &str) -> Self {
        let owner = server.organization("acme").await;
        let dev = server.member(&owner, "acme", "developer").await;
        let mate = server.member(&owner, "acme", "developer").await;
        let path = format!("/organizations/{}/pipelines", owner.organization);
        let body = json!({ "name": "Shop", "definition": definition });
        let (_, made) = server.json(Method::POST, &path, &owner.token, Some(body)).await;
        let pipeline = made["data"]["id"].as_str().unwrap().to_owned();
        Self { server, pool: pool.clone(), owner, dev, mate, pipeline }
    }

    /// `path` is relative to the environment `qa-1`; one that begins with `//` names another environment:
    /// `//pr-1/sessions`.
    pub async fn send(&self, caller: &Caller, method: Method, path: &str, body: Value) -> Reply {
        let base = format!("/organizations/acme/pipelines/{}/ephemeral-environments", self.pipeline);
        let path = match path.strip_prefix("//") {
            Some(whole) => format!("{base}/{whole}"),
            None => format!("{base}/qa-1{path}"),
        };
        let has_body = matches!(method, Method::POST) && !path.ends_with("/renew");
        let (status, json) = self.server.json(method, &path, &caller.token, has_body.then_some(body)).await;
        Reply { status: status.as_u16(), json }
    }

    /// Sends a request without a body, with an `Idempotency-Key`. `path` is relative to the environment `qa-1`.
    pub async fn keyed(&self, caller: &Caller, method: Method, path: &str, key: &str) -> KeyedReply {
        let base = format!("/organizations/acme/pipelines/{}/ephemeral-environments/qa-1", self.pipeline);
        let request = self.server.client.request(method, format!("{}{base}{path}", self.server.base));
        let response =
            request.bearer_auth(&caller.token).header("idempotency-key", key).send().await.unwrap();
        let is_replayed = response.headers().get("idempotency-replayed").is_some_and(|value| value == "true");
        let (status, json) = (response.status().as_u16(), response.json().await.unwrap());
        KeyedReply { reply: Reply { status, json }, is_replayed }
    }

    pub async fn claim(&self, caller: &Caller, body: Value) -> Reply {
        self.send(caller, Method::POST, "/sessions", body).await
    }

    pub async fn get(&self, caller: &Caller, path: &str) -> Reply {
        self.send(caller, Method::GET, path, Value::Null).await
    }

    pub async fn delete(&self, caller: &Caller, path: &str) -> Reply {
        self.send(caller, Method::DELETE, path, Value::Null).await
    }

    /// Simulates the passing of time for `qa-1`: moves its deadlines and heartbeats into the past.
    pub async fn age(&self, seconds: i64) {
        for sql in [
            "update environments set expires_at = expires_at - $1 * interval '1 second',
                 max_expires_at = max_expires_at - $1 * interval '1 second', sweep_at = sweep_at - $1 * interval '1 second',
                 handover_due_at = handover_due_at - $1 * interval '1 second', used_at = used_at - $1 * interval '1 second'",
            "update sessions set heard_at = heard_at - $1 * interval '1 second'
             where ended_at is null",
        ] {
            sqlx::query(sql).bind(seconds).execute(&self.pool).await.unwrap();
        }
    }

    /// Runs the sweeper once, as the worker does twice a second. Returns how many environments were due.
    pub async fn sweep(&self) -> usize {
        let store = &self.server.server.app.store;
        let due = store.due_environments(100, &[]).await.unwrap();
        for environment in &due {
            store.sweep_environment(*environment).await.unwrap();
        }
        due.len()
    }

    /// Changes a member's role in the database only, so that the API's other effects of a demotion do not
    /// happen.
    pub async fn set_role(&self, member: &Caller, role: &str) {
        let sql = "update memberships set role = $2 where 'usr_' || user_id = $1";
        sqlx::query(sql).bind(&member.user).bind(role).execute(&self.pool).await.unwrap();
    }

    /// Creates another token of the same member.
    pub async fn token(&self, of: &Caller, body: Value) -> Caller {
        let path = format!("/organizations/{}/api-tokens", of.organization);
        let (status, made) = self.server.json(Method::POST, &path, &of.token, Some(body)).await;
        assert_eq!(status.as_u16(), 201, "{made}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Caller { token: text(&made["data"]["token"]), token_id: text(&made["data"]["id"]), ..of.clone() }
    }

    pub async fn end(self) {
        self.server.server.stop(std::time::Duration::ZERO).await;
    }
}
