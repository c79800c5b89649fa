//! Deployments into environments: the fence, the work slot and the teardown.

use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

pub const SHOP: &str = r#"
ephemeralEnvironments:
  qa-1: { stages: [deploy], onRelease: [teardown] }
stages:
  deploy: { steps: [{ image: a, run: "true" }, { image: a, run: "true" }] }
  teardown: { steps: [{ image: a, run: "true" }] }
"#;

#[tokio::test]
async fn an_overridden_deployment_starts_no_step_and_the_next_waits_for_its_end() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (_, old) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&old).await).await;
    assert_eq!(fixture.report(&job, &format!("/steps/{}/start", job.steps[0]), json!({})).await.0, 200);

    let (_, new) = fixture.claim("qa-1", &mate, "force-claim").await;
    let (status, response) = fixture.report(&job, &format!("/steps/{}/start", job.steps[1]), json!({})).await;
    assert_eq!((status, response["code"].as_str()), (409, Some("fence_outdated")));
    let (_, beat) = fixture.report(&job, "/heartbeat", json!({})).await;
    assert_eq!(beat["data"]["cancel"]["reason"], "session_ended");
    assert!(fixture.advance(&new).await.dispatch.is_empty());
    let slot = json!([{ "kind": "work_slot", "deploymentId": old }]);
    assert_eq!(fixture.deployment(&new).await["waitingOn"], slot);

    let end = json!({ "status": "canceled" });
    assert_eq!(fixture.report(&job, &format!("/steps/{}/end", job.steps[0]), end).await.0, 200);
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    assert!(fixture.advance(&old).await.ended);
    let record = fixture.deployment(&old).await;
    assert_eq!(
        (record["status"].as_str(), record["reason"].as_str()),
        (Some("canceled"), Some("session_ended"))
    );
    // There is no teardown in between: the session that takes over keeps what is deployed.
    assert_eq!(fixture.advance(&new).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn no_step_starts_after_the_lease_even_before_the_sweeper_runs() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (_, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(fixture.report(&job, &format!("/steps/{}/start", job.steps[0]), json!({})).await.0, 200);
    // The sweeper does not run before the next step starts.
    let over =
        "update environments set expires_at = clock_timestamp() - interval '1 second', sweep_at = null";
    sqlx::query(over).execute(&pool).await.unwrap();

    let (status, response) = fixture.report(&job, &format!("/steps/{}/start", job.steps[1]), json!({})).await;
    assert_eq!((status, response["code"].as_str()), (409, Some("fence_outdated")));
    let (_, beat) = fixture.report(&job, "/heartbeat", json!({})).await;
    assert_eq!(beat["data"]["cancel"]["reason"], "session_ended");
    let end = json!({ "status": "succeeded", "exitCode": 0 });
    assert_eq!(fixture.report(&job, &format!("/steps/{}/end", job.steps[0]), end).await.0, 200);
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(fixture.status(&id).await, "canceled");
    fixture.end().await;
}

/// Returns the teardown of a session that has deployed, and the deployment of the next session, which waits
/// for it.
async fn teardown_and_next(fixture: &DeploymentFixture) -> (String, String) {
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (session, first) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    assert!(fixture.run_next_job(&first, 0).await.ended);
    fixture.release("qa-1", &fixture.owner, &session).await;
    let (_, next) = fixture.claim("qa-1", &mate, "sessions").await;
    (fixture.teardown().await, next)
}

#[tokio::test]
async fn a_session_is_torn_down_before_the_next_one_deploys() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (teardown, next) = teardown_and_next(&fixture).await;
    let teardown = teardown.as_str();
    assert!(fixture.advance(&next).await.dispatch.is_empty());
    assert_eq!(
        fixture.deployment(&next).await["waitingOn"],
        json!([{ "kind": "work_slot", "deploymentId": teardown }])
    );
    // The teardown runs although its session has ended, the fence is higher, and the pipeline is stopped.
    assert_eq!(fixture.call(reqwest::Method::POST, "/pipelines/shop/stop", json!({})).await.0, 200);
    assert!(fixture.run_next_job(teardown, 0).await.ended);
    assert_eq!(fixture.status(teardown).await, "succeeded");
    assert_eq!(fixture.call(reqwest::Method::POST, "/pipelines/shop/resume", json!({})).await.0, 200);
    assert_eq!(fixture.advance(&next).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn waiting_for_a_teardown_has_a_deadline() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (teardown, next) = teardown_and_next(&fixture).await;
    let teardown = teardown.as_str();
    // No runner takes the job.
    assert_eq!(fixture.advance(teardown).await.dispatch.len(), 1);
    let record = fixture.deployment(teardown).await;
    let begun: jiff::Timestamp = record["startedAt"].as_str().unwrap().parse().unwrap();
    let deadline: jiff::Timestamp = record["deadlineAt"].as_str().unwrap().parse().unwrap();
    assert_eq!(deadline.duration_since(begun).as_secs(), 15 * 60);
    assert!(!fixture.advance(teardown).await.ended);
    let long_ago =
        "update deployments set started_at = started_at - interval '15 minutes' where purpose = 'teardown'";
    sqlx::query(long_ago).execute(&pool).await.unwrap();
    assert!(fixture.advance(teardown).await.ended);
    let record = fixture.deployment(teardown).await;
    assert_eq!((record["status"].as_str(), record["reason"].as_str()), (Some("failed"), Some("timed_out")));
    assert_eq!(fixture.advance(&next).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn a_session_without_a_deployment_leaves_nothing_to_clean_up() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let path = format!("/pipelines/{}/ephemeral-environments/qa-1/sessions", fixture.pipeline);
    let (_, made) = fixture.call(reqwest::Method::POST, &path, json!({})).await;
    let session = made["data"]["sessionId"].as_str().unwrap();
    fixture.release("qa-1", &fixture.owner, session).await;
    let (_, list) = fixture.call(reqwest::Method::GET, "/deployments", Value::Null).await;
    assert_eq!(list["data"], json!([]));
    fixture.end().await;
}

#[tokio::test]
async fn a_retry_in_an_ended_session_is_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (session, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    fixture.run_next_job(&id, 1).await;
    fixture.release("qa-1", &fixture.owner, &session).await;
    let path = format!("/deployments/{id}/stages/deploy/retry");
    let (status, response) = fixture.call(reqwest::Method::POST, &path, json!({})).await;
    assert_eq!((status, response["code"].as_str()), (409, Some("invalid_state")));
    fixture.end().await;
}

/// The record of a deployment, the lists, its session and its environment have the same fields.
#[tokio::test]
async fn what_a_deployment_waits_for_is_in_every_view() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (session, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let environment = format!("/pipelines/{}/ephemeral-environments/qa-1", fixture.pipeline);
    let assert_waiting_on = async |waiting: Value, has_deadline: bool| {
        let own = fixture.deployment(&id).await;
        assert_eq!((&own["waitingOn"], own["deadlineAt"].is_string()), (&waiting, has_deadline), "{own}");
        for (path, pointer) in [
            ("/deployments".to_owned(), "/data/0"),
            (format!("{environment}/sessions/{session}"), "/data/deployments/0"),
            (format!("{environment}/history"), "/data/0/deployments/0"),
            (environment.clone(), "/data/lastDeployment"),
        ] {
            let (_, record) = fixture.call(reqwest::Method::GET, &path, Value::Null).await;
            let record = record.pointer(pointer).unwrap();
            for field in ["id", "status", "waitingOn", "deadlineAt"] {
                assert_eq!(record[field], own[field], "{path} {field}");
            }
        }
    };
    assert_waiting_on(json!([{ "kind": "engine" }]), false).await;
    let advance = fixture.advance(&id).await;
    assert_waiting_on(json!([{ "kind": "runner", "stage": "deploy", "pool": "default", "online": 0 }]), true)
        .await;
    let job = fixture.take(&advance).await;
    assert_waiting_on(json!([]), true).await;
    fixture.run_job(&job, 0).await;
    fixture.advance(&id).await;
    assert_waiting_on(json!([]), false).await;
    fixture.end().await;
}
