//! Fixes: red, then green, in one session, and then a draft.

use greenroom_recording_forge::{AppliesTo, Dialect, Fault, RecordingForge, TOKEN};
use greenroom_worker::fix;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::evidence_fixture::{FAILURE, FIRST, SECOND, THIRD, noise};
use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const DEFINITION: &str = "
version: 1
fix: { labels: [fixes] }
ephemeralEnvironments: { qa-1: {}, fix-1: { labels: [fixes] } }
stages:
  deploy:
    steps: [{ name: migrate, image: alpine, run: ./migrate }]
";
const BRANCH: &str = "fix-migration";

struct FixTest {
    _database: TestDatabase,
    pool: PgPool,
    fixture: DeploymentFixture,
    forge: RecordingForge,
    analysis: String,
}

impl FixTest {
    /// A failure of the second commit, with its analysis. The forge has the third commit on a branch.
    async fn new() -> Self {
        let (database, pool) = TestDatabase::create().await;
        let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
        let forge = RecordingForge::start(Dialect::Github).await;
        forge.state().branches.insert(BRANCH.to_owned(), THIRD.to_owned());
        let body = json!({
            "name": "github", "kind": "github", "address": forge.address(), "credential": { "token": TOKEN },
        });
        assert_eq!(fixture.call(Method::POST, "/forges", body).await.0, 201);
        let query = sqlx::query("update pipelines set repository = $1").bind(forge.repository());
        query.execute(&pool).await.unwrap();
        fixture.deploy("qa-1", &fixture.owner, FIRST, noise(1, ""), 0).await;
        let red = noise(2, &format!("{FAILURE}\n"));
        let (id, _) = fixture.deploy("qa-1", &fixture.owner, SECOND, red, 1).await;
        fixture.collect().await;
        let path = format!("/deployments/{id}/analyses");
        let (status, made) = fixture.call(Method::POST, &path, json!({})).await;
        assert_eq!(status, 202, "{made}");
        let analysis = made["data"]["id"].as_str().unwrap().to_owned();
        Self { _database: database, pool, fixture, forge, analysis }
    }

    async fn post(&self, body: Value) -> (u16, Value) {
        let path = format!("/analyses/{}/fix-pull-requests", self.analysis);
        self.fixture.call(Method::POST, &path, body).await
    }

    async fn request(&self) -> String {
        let (status, made) = self.post(request()).await;
        assert_eq!((status, &made["data"]["status"]), (202, &json!("queued")), "{made}");
        made["data"]["id"].as_str().unwrap().to_owned()
    }

    async fn fix(&self, id: &str) -> Value {
        let (status, found) =
            self.fixture.call(Method::GET, &format!("/fix-pull-requests/{id}"), Value::Null).await;
        assert_eq!(status, 200, "{found}");
        found["data"].clone()
    }

    /// Lets a worker continue the fix once, whenever it would be due.
    async fn step(&self, id: &str) -> Value {
        sqlx::query("update fixes set due_at = clock_timestamp() where due_at is not null")
            .execute(&self.pool)
            .await
            .unwrap();
        let access = self.fixture.evidence_sources().forges.unwrap();
        fix::run_once(&self.fixture.server.server.app.store, &access).await;
        self.fix(id).await
    }

    /// Runs the deployment that the fix waits for.
    async fn run(&self, id: &str, exit: i32) {
        let waiting = self.fix(id).await["waitingOn"][0].clone();
        let deployment = waiting["deploymentId"].as_str().unwrap();
        let last = if exit == 0 { String::new() } else { format!("{FAILURE}\n") };
        self.fixture.run_with_log(deployment, noise(7, &last), exit).await;
        self.fixture.collect().await;
    }

    /// Returns whether an environment is held.
    async fn is_held(&self) -> bool {
        let held = "select exists (select 1 from environments where session_id is not null)";
        sqlx::query_scalar(held).fetch_one(&self.pool).await.unwrap()
    }
}

fn request() -> Value {
    json!({ "source": "commit", "commitId": THIRD, "branch": BRANCH })
}

#[tokio::test]
async fn a_fix_that_was_red_and_is_green_becomes_one_draft() {
    let test = FixTest::new().await;
    let id = test.request().await;
    // The server of the test has no public address.
    sqlx::query("update fixes set web_url = 'https://greenroom.test/o/acme/deployments/'")
        .execute(&test.pool)
        .await
        .unwrap();
    let (status, problem) = test.post(request()).await;
    assert_eq!((status, &problem["code"], &problem["fixId"]), (409, &json!("fix_exists"), &json!(id)));

    let fix = test.step(&id).await;
    assert_eq!((&fix["status"], &fix["envName"]), (&json!("reproducing"), &json!("fix-1")), "{fix}");
    assert_eq!(test.step(&id).await["status"], "reproducing", "it waits for the deployment");
    test.run(&id, 1).await;
    let fix = test.step(&id).await;
    assert_eq!(fix["status"], "verifying", "{fix}");
    assert_eq!(test.fixture.event("fix.reproduced").await["data"]["after"]["fixId"], json!(id));
    test.run(&id, 0).await;
    let fix = test.step(&id).await;
    assert_eq!((&fix["status"], &fix["succeededRuns"]), (&json!("opening"), &json!(1)), "{fix}");
    assert!(!test.is_held().await, "the environment is released before the forge is called");

    // The forge opens it and fails: it is found, and not opened again.
    test.forge.set_fault(AppliesTo::Writes, Fault::FailAfter);
    assert_eq!(test.step(&id).await["status"], "opening");
    test.forge.clear_fault();
    let fix = test.step(&id).await;
    assert_eq!((&fix["status"], &fix["detail"]), (&json!("opened"), &Value::Null), "{fix}");
    {
        let state = test.forge.state();
        assert_eq!(state.pull_requests.len(), 1);
        let opened = &state.pull_requests[0];
        assert!(opened.is_draft && opened.head == BRANCH && opened.base == "main", "{opened:?}");
        for proof in [&fix["reproductionId"], &fix["verificationIds"][0]] {
            let link = format!("/deployments/{}", proof.as_str().unwrap());
            assert!(opened.body.contains(&link), "{link}: {}", opened.body);
        }
        assert!(opened.body.contains(FAILURE), "{}", opened.body);
        assert_eq!(state.statuses.last().unwrap().commit, THIRD);
        assert_eq!(fix["pullRequest"]["number"], opened.number);
    }
    let (_, canceled) =
        test.fixture.call(Method::POST, &format!("/fix-pull-requests/{id}/cancel"), Value::Null).await;
    assert_eq!(canceled["code"], "invalid_state", "{canceled}");
    {
        let opened = &mut test.forge.state().pull_requests[0];
        (opened.is_open, opened.is_merged) = (false, true);
    }
    let fix = test.step(&id).await;
    assert_eq!((&fix["status"], &fix["waitingOn"]), (&json!("merged"), &json!([])), "{fix}");
    let path = format!("/analyses/{}/fix-pull-requests", test.analysis);
    let (_, list) = test.fixture.call(Method::GET, &path, Value::Null).await;
    assert_eq!((&list["data"][0]["id"], &list["pagination"]["total"]), (&json!(id), &json!(1)));
    test.fixture.end().await;
}

#[tokio::test]
async fn what_is_not_proven_is_not_opened_and_the_environment_is_released() {
    // The failing commit succeeds, the fix fails, or the branch has moved.
    for (red, green, moved, reason) in [
        (0, None, false, "not_reproduced"),
        (1, Some(1), false, "still_red"),
        (1, Some(0), true, "branch_moved"),
    ] {
        let test = FixTest::new().await;
        let id = test.request().await;
        test.step(&id).await;
        test.run(&id, red).await;
        let mut fix = test.step(&id).await;
        if let Some(exit) = green {
            test.run(&id, exit).await;
            fix = test.step(&id).await;
        }
        if moved {
            test.forge.state().branches.insert(BRANCH.to_owned(), FIRST.to_owned());
            fix = test.step(&id).await;
        }
        assert_eq!(fix["reason"], reason, "{fix}");
        assert!(fix["endedAt"].is_string() && test.forge.state().pull_requests.is_empty(), "{fix}");
        assert!(!test.is_held().await, "{reason}");
        test.request().await;
        test.fixture.end().await;
    }
}

#[tokio::test]
async fn a_lost_session_a_cancellation_and_lost_rights_end_a_fix() {
    let test = FixTest::new().await;
    // No environment is free.
    let sessions = "/pipelines/shop/ephemeral-environments/fix-1/sessions";
    let (_, held) = test.fixture.call(Method::POST, sessions, json!({})).await;
    let id = test.request().await;
    let fix = test.step(&id).await;
    assert_eq!((&fix["status"], &fix["waitingOn"][0]["labels"]), (&json!("waiting"), &json!(["fixes"])));
    test.fixture.release("fix-1", &test.fixture.owner, held["data"]["sessionId"].as_str().unwrap()).await;
    let fix = test.step(&id).await;
    assert_eq!(fix["status"], "reproducing", "{fix}");
    // Its own requester releases the session of the fix.
    let session = fix["sessionId"].as_str().unwrap();
    test.fixture.release("fix-1", &test.fixture.owner, session).await;
    let fix = test.step(&id).await;
    assert_eq!((&fix["status"], &fix["reason"]), (&json!("failed"), &json!("session_lost")), "{fix}");

    let id = test.request().await;
    test.step(&id).await;
    assert!(test.is_held().await);
    let cancel = format!("/fix-pull-requests/{id}/cancel");
    for _ in 0..2 {
        let (status, canceled) = test.fixture.call(Method::POST, &cancel, Value::Null).await;
        assert_eq!((status, &canceled["data"]["status"]), (200, &json!("canceled")), "{canceled}");
    }
    assert!(!test.is_held().await);

    // An agent's token is revoked while the failing commit is deployed.
    let (_, token) =
        test.fixture.call(Method::POST, "/api-tokens", json!({ "name": "agent", "kind": "agent" })).await;
    let path = format!("/organizations/acme/analyses/{}/fix-pull-requests", test.analysis);
    let agent = token["data"]["token"].as_str().unwrap();
    let (status, made) = test.fixture.server.json(Method::POST, &path, agent, Some(request())).await;
    assert_eq!(status, 202, "{made}");
    let id = made["data"]["id"].as_str().unwrap();
    test.step(id).await;
    test.run(id, 1).await;
    let revoke = format!("/api-tokens/{}", token["data"]["id"].as_str().unwrap());
    test.fixture.call(Method::DELETE, &revoke, Value::Null).await;
    let fix = test.step(id).await;
    assert_eq!((&fix["status"], &fix["reason"]), (&json!("failed"), &json!("rights_lost")), "{fix}");
    assert!(!test.is_held().await);
    test.fixture.end().await;
}

#[tokio::test]
async fn requests_that_can_not_be_proven_are_refused() {
    let test = FixTest::new().await;
    for (body, pointer) in [
        (json!({ "source": "commit", "branch": BRANCH }), "/commitId"),
        (json!({ "source": "commit", "commitId": "abcdef1", "branch": BRANCH }), "/commitId"),
        (json!({ "source": "commit", "commitId": SECOND, "branch": BRANCH }), "/commitId"),
        (json!({ "source": "commit", "commitId": THIRD }), "/branch"),
        (json!({ "source": "commit", "commitId": THIRD, "branch": "../x" }), "/branch"),
        (json!({ "source": "commit", "commitId": THIRD, "branch": BRANCH, "runs": 6 }), "/runs"),
        (json!({ "source": "other", "commitId": THIRD, "branch": BRANCH }), "/source"),
    ] {
        let (status, problem) = test.post(body.clone()).await;
        assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!(pointer)), "{body} {problem}");
    }
    let (status, problem) = test.post(json!({ "source": "model" })).await;
    assert_eq!((status, &problem["code"]), (403, &json!("analysis_disabled")));
    sqlx::query("update pipelines set repository = 'https://git.example.test/a/b'")
        .execute(&test.pool)
        .await
        .unwrap();
    let (status, problem) = test.post(request()).await;
    assert_eq!((status, &problem["code"]), (409, &json!("forge_not_connected")));
    let body = json!({ "definition": DEFINITION.replace("fix: { labels: [fixes] }\n", "") });
    assert_eq!(test.fixture.call(Method::PUT, "/pipelines/shop", body).await.0, 200);
    let (status, problem) = test.post(request()).await;
    assert_eq!((status, &problem["code"]), (409, &json!("no_environment_for_fixes")));
    test.fixture.end().await;
}
