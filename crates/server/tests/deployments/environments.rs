//! Deployments into environments: the fence, the work slot, and cleaning up.

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::yard::Yard;

pub const SHOP: &str = r#"
ephemeralEnvironments:
  qa-1: { stages: [deploy], onRelease: [teardown] }
stages:
  deploy: { steps: [{ image: a, run: "true" }, { image: a, run: "true" }] }
  teardown: { steps: [{ image: a, run: "true" }] }
"#;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn who_is_overridden_starts_no_further_step_and_the_next_waits_for_its_end(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let (_, old) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let job = yard.take(&yard.advance(&old).await).await;
    assert_eq!(yard.say(&job, &format!("/steps/{}/start", job.steps[0]), json!({})).await.0, 200);

    let (_, new) = yard.claim("qa-1", &mate, "force-claim").await;
    let (status, answer) = yard.say(&job, &format!("/steps/{}/start", job.steps[1]), json!({})).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("fence_outdated")));
    let (_, beat) = yard.say(&job, "/heartbeat", json!({})).await;
    assert_eq!(beat["data"]["cancel"]["reason"], "session_ended");
    assert!(yard.advance(&new).await.dispatch.is_empty());
    let slot = json!([{ "kind": "work_slot", "deploymentId": old }]);
    assert_eq!(yard.deployment(&new).await["waitingOn"], slot);

    let end = json!({ "status": "canceled" });
    assert_eq!(yard.say(&job, &format!("/steps/{}/end", job.steps[0]), end).await.0, 200);
    assert_eq!(yard.say(&job, "/complete", json!({})).await.0, 200);
    assert!(yard.advance(&old).await.ended);
    let shown = yard.deployment(&old).await;
    assert_eq!(
        (shown["status"].as_str(), shown["reason"].as_str()),
        (Some("canceled"), Some("session_ended"))
    );
    // No teardown in between: who takes over goes on with what is there.
    assert_eq!(yard.advance(&new).await.dispatch.len(), 1);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn no_step_starts_after_the_lease_even_if_nobody_has_noticed(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let (_, id) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let job = yard.take(&yard.advance(&id).await).await;
    assert_eq!(yard.say(&job, &format!("/steps/{}/start", job.steps[0]), json!({})).await.0, 200);
    // Nothing looks at it before the next step does.
    let over =
        "update environments set expires_at = clock_timestamp() - interval '1 second', sweep_at = null";
    sqlx::query(over).execute(&pool).await.unwrap();

    let (status, answer) = yard.say(&job, &format!("/steps/{}/start", job.steps[1]), json!({})).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("fence_outdated")));
    let (_, beat) = yard.say(&job, "/heartbeat", json!({})).await;
    assert_eq!(beat["data"]["cancel"]["reason"], "session_ended");
    let end = json!({ "status": "succeeded", "exitCode": 0 });
    assert_eq!(yard.say(&job, &format!("/steps/{}/end", job.steps[0]), end).await.0, 200);
    assert_eq!(yard.say(&job, "/complete", json!({})).await.0, 200);
    assert!(yard.advance(&id).await.ended);
    assert_eq!(yard.status(&id).await, "canceled");
    yard.end().await;
}

/// What cleans up after a session that has deployed, and the deployment of the next session, which waits for it.
async fn teardown_and_next(yard: &Yard) -> (String, String) {
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let (session, first) = yard.claim("qa-1", &yard.owner, "sessions").await;
    assert!(yard.pass(&first, 0).await.ended);
    yard.release("qa-1", &yard.owner, &session).await;
    let (_, next) = yard.claim("qa-1", &mate, "sessions").await;
    (yard.teardown().await, next)
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_a_session_left_is_cleaned_up_before_the_next_one_begins(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let (teardown, next) = teardown_and_next(&yard).await;
    let teardown = teardown.as_str();
    assert!(yard.advance(&next).await.dispatch.is_empty());
    assert_eq!(
        yard.deployment(&next).await["waitingOn"],
        json!([{ "kind": "work_slot", "deploymentId": teardown }])
    );
    // It runs although its session has ended and the fence has moved on, and although the pipeline stands still.
    assert_eq!(yard.call(reqwest::Method::POST, "/pipelines/shop/stop", json!({})).await.0, 200);
    assert!(yard.pass(teardown, 0).await.ended);
    assert_eq!(yard.status(teardown).await, "succeeded");
    assert_eq!(yard.call(reqwest::Method::POST, "/pipelines/shop/resume", json!({})).await.0, 200);
    assert_eq!(yard.advance(&next).await.dispatch.len(), 1);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn who_waits_for_a_cleaning_up_does_not_wait_forever(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let (teardown, next) = teardown_and_next(&yard).await;
    let teardown = teardown.as_str();
    // No runner takes it.
    assert_eq!(yard.advance(teardown).await.dispatch.len(), 1);
    let shown = yard.deployment(teardown).await;
    let begun: jiff::Timestamp = shown["startedAt"].as_str().unwrap().parse().unwrap();
    let deadline: jiff::Timestamp = shown["deadlineAt"].as_str().unwrap().parse().unwrap();
    assert_eq!(deadline.duration_since(begun).as_secs(), 15 * 60);
    assert!(!yard.advance(teardown).await.ended);
    let long_ago =
        "update deployments set started_at = started_at - interval '15 minutes' where purpose = 'teardown'";
    sqlx::query(long_ago).execute(&pool).await.unwrap();
    assert!(yard.advance(teardown).await.ended);
    let shown = yard.deployment(teardown).await;
    assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("failed"), Some("timed_out")));
    assert_eq!(yard.advance(&next).await.dispatch.len(), 1);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_session_without_a_deployment_leaves_nothing_to_clean_up(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let path = format!("/pipelines/{}/ephemeral-environments/qa-1/sessions", yard.pipeline);
    let (_, made) = yard.call(reqwest::Method::POST, &path, json!({})).await;
    let session = made["data"]["sessionId"].as_str().unwrap();
    yard.release("qa-1", &yard.owner, session).await;
    let (_, listed) = yard.call(reqwest::Method::GET, "/deployments", Value::Null).await;
    assert_eq!(listed["data"], json!([]));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn nothing_is_tried_again_in_a_session_that_is_over(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let (session, id) = yard.claim("qa-1", &yard.owner, "sessions").await;
    yard.pass(&id, 1).await;
    yard.release("qa-1", &yard.owner, &session).await;
    let path = format!("/deployments/{id}/stages/deploy/retry");
    let (status, answer) = yard.call(reqwest::Method::POST, &path, json!({})).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("invalid_state")));
    yard.end().await;
}

/// Its own record, the lists, its session and its environment tell the same of a deployment.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_it_waits_for_is_told_everywhere(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let (session, id) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let environment = format!("/pipelines/{}/ephemeral-environments/qa-1", yard.pipeline);
    let told = async |waiting: Value, has_deadline: bool| {
        let own = yard.deployment(&id).await;
        assert_eq!((&own["waitingOn"], own["deadlineAt"].is_string()), (&waiting, has_deadline), "{own}");
        for (path, pointer) in [
            ("/deployments".to_owned(), "/data/0"),
            (format!("{environment}/sessions/{session}"), "/data/deployments/0"),
            (format!("{environment}/history"), "/data/0/deployments/0"),
            (environment.clone(), "/data/lastDeployment"),
        ] {
            let (_, shown) = yard.call(reqwest::Method::GET, &path, Value::Null).await;
            let shown = shown.pointer(pointer).unwrap();
            for field in ["id", "status", "waitingOn", "deadlineAt"] {
                assert_eq!(shown[field], own[field], "{path} {field}");
            }
        }
    };
    told(json!([{ "kind": "engine" }]), false).await;
    let advance = yard.advance(&id).await;
    told(json!([{ "kind": "runner", "stage": "deploy", "pool": "default" }]), true).await;
    let job = yard.take(&advance).await;
    told(json!([]), true).await;
    yard.carry_out(&job, 0).await;
    yard.advance(&id).await;
    told(json!([]), false).await;
    yard.end().await;
}
