//! Analyses of failures: when they end, who may request them, and what an attacker would try first.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::evidence_fixture::{DEFINITION, FAILURE, FIRST, SECOND, noise};
use crate::fixture::DeploymentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const MAX_PER_FAILURE: usize = 20;

impl DeploymentFixture {
    /// A deployment of this caller that has failed, without evidence so far.
    async fn failed_deployment(&self, by: &Caller) -> String {
        self.deploy("qa-1", by, FIRST, noise(1, &format!("{FAILURE}\n")), 1).await.0
    }

    async fn post_as(&self, token: &str, path: &str, body: Value) -> (u16, Value) {
        let path = format!("/organizations/acme{path}");
        let (status, response) = self.server.json(Method::POST, &path, token, Some(body)).await;
        (status.as_u16(), response)
    }

    async fn analyze(&self, deployment: &str, body: Value) -> (u16, Value) {
        self.post_as(&self.owner.token, &format!("/deployments/{deployment}/analyses"), body).await
    }

    async fn analysis(&self, id: &Value) -> Value {
        let path = format!("/analyses/{}", id.as_str().unwrap());
        let (status, found) = self.call(Method::GET, &path, Value::Null).await;
        assert_eq!(status, 200, "{found}");
        found["data"].clone()
    }

    /// Creates a token with less than its user may do.
    async fn token(&self, of: &Caller, body: Value) -> String {
        let (status, made) = self.post_as(&of.token, "/api-tokens", body).await;
        assert_eq!(status, 201, "{made}");
        made["data"]["token"].as_str().unwrap().to_owned()
    }
}

async fn count(pool: &PgPool, table: &str) -> i64 {
    let query = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
    sqlx::query_scalar(query).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn an_analysis_succeeds_immediately_if_the_evidence_is_there() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let owner = &fixture.owner;
    fixture.deploy("qa-1", owner, FIRST, noise(1, ""), 0).await;
    let (id, step) = fixture.deploy("qa-1", owner, SECOND, noise(2, &format!("{FAILURE}\n")), 1).await;
    fixture.collect().await;

    let (status, made) = fixture.analyze(&id, json!({ "stage": "deploy" })).await;
    let analysis = &made["data"];
    assert_eq!((status, &analysis["status"]), (202, &json!("succeeded")), "{made}");
    assert_eq!((&analysis["deploymentId"], &analysis["stepRunId"]), (&json!(id), &json!(step)));
    assert_eq!((&analysis["stage"], &analysis["step"]), (&json!("deploy"), &json!("migrate")));
    assert_eq!((&analysis["category"], &analysis["verdict"]), (&json!("database"), &json!("yours")));
    assert_eq!(analysis["decisiveLine"], json!({ "line": 202, "text": FAILURE }));
    let known = fixture.evidence(&id).await["failures"][0].clone();
    assert_eq!(
        (&analysis["failureId"], &analysis["fingerprint"]),
        (&known["id"], &known["known"]["fingerprint"])
    );
    assert_eq!(
        (&analysis["model"], &analysis["cause"], &analysis["next"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
    assert_eq!((&analysis["waitingOn"], &analysis["deadlineAt"]), (&json!([]), &Value::Null));
    assert_eq!(analysis["createdBy"]["id"], json!(owner.user));
    assert_eq!(&fixture.analysis(&analysis["id"]).await, analysis);

    let (_, without) = fixture.analyze(&id, json!({})).await;
    assert_eq!(without["data"]["stage"], "deploy", "the first stage that has failed: {without}");
    let path = format!("/deployments/{id}/analyses");
    let (_, list) = fixture.call(Method::GET, &format!("{path}?limit=1"), Value::Null).await;
    assert_eq!((&list["data"][0]["id"], &list["pagination"]["total"]), (&without["data"]["id"], &json!(2)));
    assert_eq!(fixture.call(Method::GET, &format!("{path}?limit=0"), Value::Null).await.0, 422);

    let actions = fixture.evidence(&id).await["actions"].clone();
    let action = actions.as_array().unwrap().iter().find(|action| action["action"] == "analyze").unwrap();
    assert!(action["href"].as_str().unwrap().ends_with(&path), "{action}");
    for event_type in ["analysis.started", "analysis.succeeded"] {
        let event = fixture.event(event_type).await;
        let subject = event["subject"].as_str().unwrap();
        assert!(
            subject.starts_with(&format!("pipelines/{}/deployments/{id}/analyses/ana_", fixture.pipeline))
        );
        assert_eq!(event["data"]["actor"]["id"], json!(owner.user));
        assert!(!event.to_string().contains("schema version"), "an event has no text of a log");
    }
    fixture.end().await;
}

#[tokio::test]
async fn an_analysis_waits_for_the_evidence_and_keeps_what_it_found() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let owner = &fixture.owner;
    fixture.deploy("qa-1", owner, FIRST, noise(1, ""), 0).await;
    let (id, _) = fixture.deploy("qa-1", owner, SECOND, noise(2, "connection reset by peer\n"), 1).await;
    let (status, made) = fixture.analyze(&id, json!({})).await;
    let waiting = made["data"].clone();
    assert_eq!((status, &waiting["status"]), (202, &json!("collecting")), "{made}");
    assert_eq!(waiting["waitingOn"], json!([{ "kind": "evidence" }]));
    assert!(waiting["deadlineAt"].is_string() && waiting["verdict"].is_null(), "{waiting}");

    fixture.collect().await;
    let ended = fixture.analysis(&waiting["id"]).await;
    assert_eq!((&ended["status"], &ended["verdict"]), (&json!("succeeded"), &json!("yours")), "{ended}");
    assert_eq!(ended["decisiveLine"]["text"], "connection reset by peer");
    assert_eq!((&ended["waitingOn"], &ended["deadlineAt"]), (&json!([]), &Value::Null));
    assert_eq!(fixture.event("analysis.succeeded").await["data"]["actor"]["kind"], "system");

    // The verdict of the evidence is decided again. That of the analysis is what it was.
    fixture.deploy("qa-1", owner, SECOND, noise(3, ""), 0).await;
    fixture.collect().await;
    assert_eq!(fixture.verdict(&id).await, "flaky");
    assert_eq!(fixture.analysis(&waiting["id"]).await["verdict"], "yours");
    fixture.end().await;
}

#[tokio::test]
async fn an_analysis_without_evidence_fails_at_its_deadline() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let id = fixture.failed_deployment(&fixture.owner).await;
    let (_, made) = fixture.analyze(&id, json!({})).await;
    let store = &fixture.server.server.app.store;
    assert_eq!(store.overdue_analyses(10).await.unwrap(), []);
    let pass = "update analyses set deadline_at = clock_timestamp() - interval '1 second'";
    sqlx::query(pass).execute(&pool).await.unwrap();
    let overdue = store.overdue_analyses(10).await.unwrap();
    let [(organization, analysis)] = overdue[..] else { panic!("{overdue:?}") };
    assert!(store.fail_overdue_analysis(organization, analysis).await.unwrap());
    assert!(!store.fail_overdue_analysis(organization, analysis).await.unwrap(), "it has ended");
    let failed = fixture.analysis(&made["data"]["id"]).await;
    assert_eq!((&failed["status"], &failed["reason"]), (&json!("failed"), &json!("evidence_not_collected")));
    assert_eq!(fixture.event("analysis.failed").await["data"]["reason"], "evidence_not_collected");
    // What comes too late changes nothing.
    fixture.collect().await;
    assert_eq!(fixture.analysis(&made["data"]["id"]).await["status"], "failed");
    assert_eq!(fixture.analyze(&id, json!({})).await.1["data"]["status"], "succeeded");
    fixture.end().await;
}

#[tokio::test]
async fn what_has_not_failed_or_is_not_there_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (good, _) = fixture.deploy("qa-1", &fixture.owner, FIRST, noise(1, ""), 0).await;
    let failed = fixture.failed_deployment(&fixture.owner).await;
    fixture.collect().await;
    let missing = "dep_0190a0b0-0000-7000-8000-000000000001".to_owned();
    for (deployment, body, expected, code) in [
        (&good, json!({}), 409, "not_failed"),
        (&good, json!({ "stage": "deploy" }), 409, "not_failed"),
        (&failed, json!({ "stage": "check" }), 409, "not_failed"),
        (&failed, json!({ "stage": "nothing" }), 404, "not_found"),
        (&failed, json!({ "stage": "' or true --" }), 404, "not_found"),
        (&failed, json!({ "stage": "a\u{0}" }), 422, "invalid_request"),
        (&failed, json!({ "stage": "deploy", "model": "any" }), 422, "invalid_request"),
        (&missing, json!({}), 404, "not_found"),
    ] {
        let (status, problem) = fixture.analyze(deployment, body).await;
        assert_eq!((status, &problem["code"]), (expected, &json!(code)), "{problem}");
    }
    // Evidence that was deleted with the logs.
    let age = "update deployments set ended_at = clock_timestamp() - interval '91 days'";
    sqlx::query(age).execute(&pool).await.unwrap();
    let store = &fixture.server.server.app.store;
    assert!(store.expire_deployment(fixture.organization(), failed.parse().unwrap(), 90).await.unwrap());
    let (status, problem) = fixture.analyze(&failed, json!({})).await;
    assert_eq!((status, &problem["code"]), (410, &json!("evidence_expired")), "{problem}");
    assert!(problem["fingerprints"][0].as_str().unwrap().starts_with("fp_"), "{problem}");
    assert_eq!(count(&pool, "analyses").await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn an_agent_analyzes_its_own_sessions_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (holder, other) = (
        fixture.server.member(&fixture.owner, "acme", "developer").await,
        fixture.server.member(&fixture.owner, "acme", "developer").await,
    );
    let viewer = fixture.server.member(&fixture.owner, "acme", "viewer").await;
    let id = fixture.failed_deployment(&holder).await;
    fixture.collect().await;
    let path = format!("/deployments/{id}/analyses");
    let agent = json!({ "name": "agent", "kind": "agent" });
    let own = fixture.token(&holder, agent.clone()).await;
    let others = fixture.token(&other, agent).await;
    let reads = fixture.token(&holder, json!({ "name": "reads", "scopes": ["read"] })).await;
    for (token, expected, code) in
        [(&others, 403, "scope_missing"), (&reads, 403, "scope_missing"), (&viewer.token, 403, "forbidden")]
    {
        let (status, problem) = fixture.post_as(token, &path, json!({})).await;
        assert_eq!((status, &problem["code"]), (expected, &json!(code)), "{problem}");
    }
    let (_, problem) = fixture.post_as(&others, &path, json!({})).await;
    assert_eq!(problem["requiredScope"], "write", "{problem}");
    assert_eq!(count(&pool, "analyses").await, 0);
    let (status, made) = fixture.post_as(&own, &path, json!({})).await;
    assert_eq!(status, 202, "{made}");
    // A developer with all scopes analyzes failures of others.
    assert_eq!(fixture.post_as(&other.token, &path, json!({})).await.0, 202);

    // The same for feedback; reading needs no more than the role.
    let feedback = format!("/analyses/{}/feedback", made["data"]["id"].as_str().unwrap());
    let helpful = json!({ "helpful": true });
    assert_eq!(fixture.post_as(&others, &feedback, helpful.clone()).await.1["requiredScope"], "write");
    assert_eq!(fixture.post_as(&viewer.token, &feedback, helpful.clone()).await.0, 403);
    assert_eq!(fixture.post_as(&own, &feedback, helpful).await.0, 200);
    let get = format!("/organizations/acme{path}");
    assert_eq!(fixture.server.json(Method::GET, &get, &viewer.token, None).await.0, 200);

    // Another organization sees nothing, by any path.
    let stranger = fixture.server.organization("globex").await;
    let analysis = made["data"]["id"].as_str().unwrap();
    for organization in ["acme", "globex"] {
        for (method, path, body) in [
            (Method::POST, format!("/deployments/{id}/analyses"), Some(json!({}))),
            (Method::GET, format!("/deployments/{id}/analyses"), None),
            (Method::GET, format!("/analyses/{analysis}"), None),
            (Method::POST, format!("/analyses/{analysis}/feedback"), Some(json!({ "helpful": false }))),
        ] {
            let path = format!("/organizations/{organization}{path}");
            let (status, problem) = fixture.server.json(method, &path, &stranger.token, body).await;
            assert_eq!((status.as_u16(), &problem["code"]), (404, &json!("not_found")), "{path} {problem}");
        }
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_repeated_request_creates_one_analysis_and_a_failure_has_a_limited_number() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let id = fixture.failed_deployment(&fixture.owner).await;
    let url = format!("{}/organizations/acme/deployments/{id}/analyses", fixture.server.base);
    let send = async |key: Option<&str>, body: Value| {
        let request = fixture.server.client.post(&url).bearer_auth(&fixture.owner.token).json(&body);
        let request = match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let (_, first) = send(Some("once"), json!({})).await;
    fixture.collect().await;
    let (status, again) = send(Some("once"), json!({})).await;
    assert_eq!((status, &again), (202, &first), "the stored response");
    let (status, problem) = send(Some("once"), json!({ "stage": "deploy" })).await;
    assert_eq!((status, &problem["code"]), (422, &json!("idempotency_key_reused")), "{problem}");
    assert_eq!(count(&pool, "analyses").await, 1);

    let statuses = join_all((0..MAX_PER_FAILURE + 4).map(|_| send(None, json!({})))).await;
    let accepted = statuses.iter().filter(|(status, _)| *status == 202).count();
    let refused: Vec<_> = statuses.iter().filter(|(status, _)| *status != 202).collect();
    assert_eq!(accepted, MAX_PER_FAILURE - 1, "{refused:?}");
    assert!(refused.iter().all(|(status, problem)| *status == 409 && problem["code"] == "analysis_limit"));
    assert_eq!(count(&pool, "analyses").await, MAX_PER_FAILURE as i64);

    // A failure and its analyses are deleted together.
    sqlx::query("update failures set failed_at = failed_at - interval '401 days'")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(fixture.server.server.app.store.delete_old_failures(400, 10).await.unwrap(), 1);
    assert_eq!(count(&pool, "analyses").await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn feedback_is_one_per_person_and_plain_text() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let other = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let id = fixture.failed_deployment(&fixture.owner).await;
    let (_, made) = fixture.analyze(&id, json!({})).await;
    let analysis = made["data"]["id"].clone();
    let path = format!("/analyses/{}/feedback", analysis.as_str().unwrap());
    let give = async |token: &str, body: Value| fixture.post_as(token, &path, body).await;
    let owner = fixture.owner.token.as_str();
    let (status, problem) = give(owner, json!({ "helpful": true })).await;
    assert_eq!((status, &problem["code"]), (409, &json!("invalid_state")), "it has not ended: {problem}");
    fixture.collect().await;

    let markup = "<script>alert(1)</script>\n[x](javascript:alert(1)) {{7*7}} ' or true --";
    let (status, given) = give(owner, json!({ "helpful": true, "comment": markup })).await;
    assert_eq!((status, &given["data"]["feedback"][0]["comment"]), (200, &json!(markup)), "{given}");
    assert_eq!(given["data"]["feedback"][0]["by"]["id"], json!(fixture.owner.user));
    let event = fixture.event("analysis.feedback_given").await;
    assert_eq!(event["data"]["after"]["helpful"], true);
    assert!(!event.to_string().contains("script"), "an event has no comment");
    give(&other.token, json!({ "helpful": true, "comment": " " })).await;
    let (_, given) = give(owner, json!({ "helpful": false })).await;
    let feedback: Vec<_> = given["data"]["feedback"].as_array().unwrap().iter().collect();
    let summary: Vec<_> = feedback.iter().map(|one| (&one["helpful"], &one["comment"])).collect();
    assert_eq!(summary, [(&json!(false), &Value::Null), (&json!(true), &Value::Null)], "{given}");
    for body in [
        json!({}),
        json!({ "helpful": "yes" }),
        json!({ "helpful": true, "comment": "ä".repeat(501) }),
        json!({ "helpful": true, "comment": "a\u{0}b" }),
        json!({ "helpful": true, "comment": "a\u{202e}b" }),
        json!({ "helpful": true, "userId": other.user }),
    ] {
        assert_eq!(give(owner, body.clone()).await.0, 422, "{body}");
    }
    assert_eq!(count(&pool, "analysis_feedback").await, 2);
    fixture.end().await;
}
