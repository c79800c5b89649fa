//! Analyses that a model explains: a scripted one, which also does what an attacker's model would.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use greenroom_worker::model::{self, Limits};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio_util::task::AbortOnDropHandle;

use crate::evidence_fixture::{DEFINITION, FAILURE, FIRST, SECOND, THIRD, noise};
use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const KEY: &str = "key-of-the-model";
const CAUSE: &str = "The migration did not run before the seed.";

/// What the scripted model does.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    received: Vec<Received>,
    /// Each a status and a text.
    responses: VecDeque<(u16, String)>,
}

#[derive(Clone)]
struct Received {
    key: Option<String>,
    body: String,
}

impl Script {
    fn respond(&self, status: u16, text: &str) {
        self.0.lock().unwrap().responses.push_back((status, text.to_owned()));
    }

    fn received(&self) -> Vec<Received> {
        self.0.lock().unwrap().received.clone()
    }
}

async fn serve(State(script): State<Script>, headers: HeaderMap, body: String) -> impl IntoResponse {
    let key = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut script = script.0.lock().unwrap();
    script.received.push(Received { key, body });
    let (status, text) = script.responses.pop_front().unwrap_or((200, explanation().to_string()));
    let location = (status == 302).then_some("http://127.0.0.1:1/v1");
    let body = json!({
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 900, "completion_tokens": 100 },
    });
    let headers =
        [(header::LOCATION, location.unwrap_or_default()), (header::CONTENT_TYPE, "application/json")];
    (StatusCode::from_u16(status).unwrap(), headers, body.to_string())
}

fn explanation() -> Value {
    json!({
        "evidence": ["E1", "E99"], "suspects": ["C1"], "category": "configuration", "cause": CAUSE,
        "next": ["Run the migration first."], "confidence": "high", "enough": true,
    })
}

struct ModelTest {
    _database: TestDatabase,
    pool: PgPool,
    fixture: DeploymentFixture,
    script: Script,
    /// A deployment that has failed, with its evidence.
    failed: String,
    _server: AbortOnDropHandle<()>,
}

impl ModelTest {
    async fn new(settings: Value) -> Self {
        let (database, pool) = TestDatabase::create().await;
        let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
        let script = Script::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new().fallback(serve).with_state(script.clone());
        #[expect(clippy::disallowed_methods, reason = "aborted when the test ends")]
        let server = AbortOnDropHandle::new(tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        }));
        let mut body = json!({
            "enabled": true, "protocol": "openai", "address": address, "model": "small",
            "credential": { "token": KEY }, "inputPriceMicros": 1_000_000, "outputPriceMicros": 2_000_000,
        });
        for (name, value) in settings.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, updated) = fixture.call(Method::PATCH, "/analysis-settings", body).await;
        assert_eq!(status, 200, "{updated}");
        fixture.deploy("qa-1", &fixture.owner, FIRST, noise(1, ""), 0).await;
        let failed = fixture.fail(SECOND, FAILURE).await;
        Self { _database: database, pool, fixture, script, failed, _server: server }
    }

    async fn analyze(&self, deployment: &str, body: Value) -> (u16, Value) {
        self.fixture.call(Method::POST, &format!("/deployments/{deployment}/analyses"), body).await
    }

    /// Requests an analysis, and lets a worker call the model.
    async fn explained(&self, deployment: &str) -> Value {
        let (status, made) = self.analyze(deployment, json!({})).await;
        let made = &made["data"];
        assert_eq!((status, &made["status"]), (202, &json!("analyzing")), "{made}");
        assert_eq!(
            (&made["waitingOn"], &made["category"]),
            (&json!([{ "kind": "model" }]), &json!("database"))
        );
        assert!(made["deadlineAt"].is_string() && self.run().await);
        self.get(&format!("/analyses/{}", made["id"].as_str().unwrap())).await.1["data"].clone()
    }

    async fn run(&self) -> bool {
        let access = self.fixture.evidence_sources().forges.unwrap();
        let limits = Limits { backoff: Duration::from_millis(1), ..Limits::default() };
        model::run_once(&self.fixture.server.server.app.store, &access, limits).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.fixture.call(Method::GET, path, Value::Null).await
    }

    async fn usage(&self) -> Value {
        self.get("/analysis-settings").await.1["data"]["usage"].clone()
    }
}

impl DeploymentFixture {
    /// A deployment that fails with this line, with its evidence.
    async fn fail(&self, commit: &str, line: &str) -> String {
        let (id, _) = self.deploy("qa-1", &self.owner, commit, noise(2, &format!("{line}\n")), 1).await;
        self.collect().await;
        id
    }
}

#[tokio::test]
async fn a_model_explains_a_failure_once() {
    let test = ModelTest::new(json!({})).await;
    let offered = test.fixture.evidence(&test.failed).await["model"].clone();
    assert_eq!(
        offered,
        json!({ "name": "small", "host": "127.0.0.1" }),
        "a developer sees where it would be sent"
    );
    let analysis = test.explained(&test.failed).await;
    assert_eq!((&analysis["status"], &analysis["reason"]), (&json!("succeeded"), &Value::Null), "{analysis}");
    assert_eq!(
        (&analysis["cause"], &analysis["next"]),
        (&json!(CAUSE), &json!(["Run the migration first."]))
    );
    assert_eq!(analysis["category"], "database", "what the rules have found is not replaced");
    let model = &analysis["model"];
    assert_eq!((&model["name"], &model["host"]), (&json!("small"), &json!("127.0.0.1")));
    assert_eq!(
        (&model["category"], &model["evidence"]),
        (&json!("configuration"), &json!(["E1"])),
        "{model}"
    );
    let suspect = format!("commit {SECOND} instead of {FIRST}");
    assert_eq!((&model["suspects"], &model["reusedFrom"]), (&json!([suspect]), &Value::Null));

    // The key goes to the endpoint, and nowhere else.
    let received = test.script.received();
    assert_eq!(received.len(), 1);
    let Received { key, body } = &received[0];
    assert_eq!(key.as_deref(), Some("Bearer key-of-the-model"));
    let (status, prompt) = test.get(&format!("/analyses/{}/prompt", analysis["id"].as_str().unwrap())).await;
    let prompt = &prompt["data"];
    assert_eq!(
        (status, &prompt["costMicros"], &prompt["error"]),
        (200, &json!(1_100), &Value::Null),
        "{prompt}"
    );
    let text = prompt["text"].as_str().unwrap();
    assert!(text.contains(FAILURE) && body.contains(FAILURE) && text.contains(SECOND));
    for private in [KEY, test.fixture.owner.user.as_str(), test.fixture.owner.token.as_str()] {
        assert!(!text.contains(private) && !body.contains(private), "{private} is in the prompt");
    }
    let called = test.fixture.event("model.called").await["data"]["after"].clone();
    assert_eq!((&called["promptHash"], &called["host"]), (&prompt["hash"], &json!("127.0.0.1")), "{called}");
    let event = test.fixture.event("analysis.succeeded").await.to_string();
    assert!(!event.contains(CAUSE) && !event.contains(FAILURE), "{event}");

    // The same failure after the same changes costs nothing.
    let again = test.fixture.fail(SECOND, FAILURE).await;
    let reused = test.explained(&again).await;
    assert_eq!(
        (&reused["cause"], &reused["model"]["reusedFrom"]),
        (&json!(CAUSE), &analysis["id"]),
        "{reused}"
    );
    assert_eq!(test.get(&format!("/analyses/{}/prompt", reused["id"].as_str().unwrap())).await.0, 404);
    let (_, without) = test.analyze(&again, json!({ "model": false })).await;
    assert_eq!((&without["data"]["status"], &without["data"]["model"]), (&json!("succeeded"), &Value::Null));
    assert_eq!((test.script.received().len(), &test.usage().await["requests"]), (1, &json!(1)));
    // Another commit is another change.
    let other = test.fixture.fail(THIRD, FAILURE).await;
    assert_eq!(test.explained(&other).await["model"]["reusedFrom"], Value::Null);
    assert_eq!(test.script.received().len(), 2);
}

#[tokio::test]
async fn a_model_that_fails_costs_no_finding() {
    let test = ModelTest::new(json!({})).await;
    let mut reported = Vec::new();
    let lie = json!({ "tool": "shell", "run": "rm -rf /" }).to_string();
    for (number, responses) in [
        vec![(500, ""), (500, ""), (500, "")],
        vec![(429, ""), (503, ""), (429, "")],
        vec![(200, "not JSON"), (200, "still not JSON")],
        vec![(200, lie.as_str()), (200, lie.as_str())],
        vec![(302, "")],
        vec![(401, "")],
    ]
    .into_iter()
    .enumerate()
    {
        let commit = format!("{:040x}", number + 16);
        let failed = test.fixture.fail(&commit, FAILURE).await;
        for (status, text) in &responses {
            test.script.respond(*status, text);
        }
        let before = test.script.received().len();
        let analysis = test.explained(&failed).await;
        let expected = (&json!("failed"), &json!("model_failed"));
        assert_eq!((&analysis["status"], &analysis["reason"]), expected, "{responses:?} {analysis}");
        assert_eq!((&analysis["category"], &analysis["cause"]), (&json!("database"), &Value::Null));
        assert_eq!(analysis["model"]["evidence"], json!([]));
        // The model is in a network that only the operator allows: what it has responded is in the log.
        assert!(analysis["detail"].as_str().unwrap().contains("--outbound-allow"), "{analysis}");
        let prompt = format!("/analyses/{}/prompt", analysis["id"].as_str().unwrap());
        let prompt = test.get(&prompt).await.1["data"].clone();
        reported.push((analysis["detail"].clone(), prompt["error"].clone()));
        assert_eq!(test.script.received().len() - before, responses.len(), "{responses:?}");
    }
    assert_eq!(test.usage().await["requests"], 6);
    reported.dedup();
    assert_eq!(reported.len(), 1, "{reported:?}");
}

#[tokio::test]
async fn a_budget_is_never_exceeded() {
    let test = ModelTest::new(json!({ "maxRequestsPerDay": 1 })).await;
    assert_eq!(test.explained(&test.failed).await["status"], "succeeded");
    let other = test.fixture.fail(THIRD, FAILURE).await;
    let refused = test.explained(&other).await;
    assert_eq!((&refused["status"], &refused["reason"]), (&json!("refused"), &json!("budget_exhausted")));
    assert_eq!((&refused["category"], &refused["cause"]), (&json!("database"), &Value::Null), "{refused}");
    let (status, problem) = test.analyze(&other, json!({ "model": true })).await;
    assert_eq!((status, &problem["code"]), (429, &json!("budget_exhausted")), "{problem}");
    assert!(problem["resetsAt"].is_string() && problem["budget"] == "requests", "{problem}");
    assert_eq!(test.script.received().len(), 1);
    assert_eq!(test.fixture.event("analysis.refused").await["data"]["reason"], "budget_exhausted");
}

#[tokio::test]
async fn a_model_that_is_disabled_is_not_called() {
    let test = ModelTest::new(json!({})).await;
    let (_, made) = test.analyze(&test.failed, json!({ "model": true })).await;
    let disabled = json!({ "enabled": false });
    assert_eq!(test.fixture.call(Method::PATCH, "/analysis-settings", disabled).await.0, 200);
    assert!(test.run().await);
    let path = format!("/analyses/{}", made["data"]["id"].as_str().unwrap());
    let analysis = test.get(&path).await.1["data"].clone();
    assert_eq!((&analysis["status"], &analysis["model"]), (&json!("succeeded"), &Value::Null), "{analysis}");
    let (status, problem) = test.analyze(&test.failed, json!({ "model": true })).await;
    assert_eq!((status, &problem["code"]), (403, &json!("analysis_disabled")), "{problem}");
    let (_, made) = test.analyze(&test.failed, json!({})).await;
    assert_eq!(made["data"]["status"], "succeeded");
    assert!(test.script.received().is_empty() && !test.run().await);
}

#[tokio::test]
async fn workers_that_die_call_a_model_twice_at_most() {
    let test = ModelTest::new(json!({})).await;
    let (_, made) = test.analyze(&test.failed, json!({})).await;
    let path = format!("/analyses/{}", made["data"]["id"].as_str().unwrap());
    // Each worker dies after its call, before it has written anything.
    for _ in 0..2 {
        sqlx::query(
            "insert into model_calls
                 (organization_id, id, failure_id, analysis_id, host, model, prompt, prompt_hash, prompt_version, input_price,
                  output_price, reserved_day, reserved_month, reserved_tokens, reserved_cost)
             select organization_id, gen_random_uuid(), failure_id, id, 'm', 'm', '', '', 1, 0, 0, current_date, current_date, 1, 0
             from analyses",
        )
        .execute(&test.pool)
        .await
        .unwrap();
    }
    let leased = "update analyses set leased_until = clock_timestamp() + interval '1 minute'";
    sqlx::query(leased).execute(&test.pool).await.unwrap();
    assert!(!test.run().await, "another worker has leased it");
    sqlx::query("update analyses set leased_until = clock_timestamp()").execute(&test.pool).await.unwrap();
    assert!(test.run().await);
    let analysis = test.get(&path).await.1["data"].clone();
    assert_eq!((&analysis["status"], &analysis["reason"]), (&json!("failed"), &json!("model_failed")));
    assert!(test.script.received().is_empty());
}
