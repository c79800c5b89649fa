//! Teardowns that do not succeed: what the environment says of it, how they are repeated, and how they are given up.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::support::Caller;
use crate::yard::Yard;

const REVIEW: &str = r#"
ephemeralEnvironments:
  "pr-*": { max: 1, stages: [deploy], onRelease: [teardown] }
stages:
  deploy: { steps: [{ image: a, run: "true" }] }
  teardown: { steps: [{ image: a, run: "true" }] }
"#;

fn environment(yard: &Yard, name: &str) -> String {
    format!("/pipelines/{}/ephemeral-environments/{name}", yard.pipeline)
}

async fn shown(yard: &Yard, name: &str) -> Value {
    let (status, shown) = yard.call(Method::GET, &environment(yard, name), Value::Null).await;
    assert_eq!(status, 200, "{shown}");
    shown["data"].clone()
}

/// A session deploys, is released, and its teardown fails.
async fn failed_teardown(yard: &Yard, name: &str, by: &Caller) -> String {
    let (session, first) = yard.claim(name, by, "sessions").await;
    assert!(yard.pass(&first, 0).await.ended);
    yard.release(name, by, &session).await;
    let teardown = yard.teardown().await;
    assert!(yard.pass(&teardown, 1).await.ended);
    assert_eq!(yard.status(&teardown).await, "failed");
    teardown
}

/// Makes the sweeper's next try due, and has it made.
async fn sweep(yard: &Yard, pool: &PgPool) -> usize {
    let due =
        "update environments set cleanup_retry_at = clock_timestamp() where cleanup_retry_at is not null";
    sqlx::query(due).execute(pool).await.unwrap();
    let store = &yard.server.server.app.store;
    let mut started = 0;
    for due in store.due_cleanups(10).await.unwrap() {
        started += usize::from(store.repeat_due_cleanup(due).await.unwrap());
    }
    started
}

/// How many seconds after the failure the sweeper repeats it; `None`: it does not.
async fn next_try(pool: &PgPool) -> Option<i64> {
    let query = "select extract(epoch from cleanup_retry_at - cleanup_failed_at)::bigint from environments
                 where cleanup_failed_at is not null";
    sqlx::query_scalar(query).fetch_one(pool).await.unwrap()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_failed_teardown_is_shown_and_keeps_nobody_from_the_environment(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let teardown = failed_teardown(&yard, "qa-1", &yard.owner).await;
    let failed = shown(&yard, "qa-1").await["cleanupFailed"].clone();
    assert_eq!((&failed["deploymentId"], &failed["reason"]), (&json!(teardown), &json!("step_failed")));
    assert_eq!(failed["at"], yard.deployment(&teardown).await["endedAt"]);
    // A plain claim, which is granted by a single statement, says it as well; so does the session from then on.
    let path = format!("{}/sessions", environment(&yard, "qa-1"));
    let (status, claimed) = yard.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, &claimed["data"]["cleanupFailed"]), (201, &failed), "{claimed}");
    let session = claimed["data"]["sessionId"].as_str().unwrap();
    let (_, read) = yard.call(Method::GET, &format!("{path}/{session}"), Value::Null).await;
    assert_eq!(read["data"]["cleanupFailed"], failed);
    // It deployed nothing; its end is a chance to clean up all the same.
    yard.release("qa-1", &yard.owner, session).await;
    let again = yard.teardown().await;
    assert_ne!(again, teardown);
    assert!(yard.pass(&again, 0).await.ended);
    assert_eq!(shown(&yard, "qa-1").await["cleanupFailed"], Value::Null);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_canceled_teardown_leaves_the_same(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let (session, first) = yard.claim("qa-1", &yard.owner, "sessions").await;
    assert!(yard.pass(&first, 0).await.ended);
    yard.release("qa-1", &yard.owner, &session).await;
    let teardown = yard.teardown().await;
    let path = format!("/deployments/{teardown}/cancel");
    assert_eq!(yard.call(Method::POST, &path, json!({})).await.0, 202);
    let failed = shown(&yard, "qa-1").await["cleanupFailed"].clone();
    assert_eq!((&failed["deploymentId"], &failed["reason"]), (&json!(teardown), &json!("canceled_by_user")));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_maintainer_repeats_it(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let teardown = failed_teardown(&yard, "qa-1", &yard.owner).await;
    let path = format!("{}/cleanup", environment(&yard, "qa-1"));
    let (status, made) = yard.call(Method::POST, &path, json!({ "commitId": "fedcba9" })).await;
    assert_eq!(status, 202, "{made}");
    let again = made["data"]["id"].as_str().unwrap();
    assert_ne!(again, teardown);
    assert_eq!(
        (&made["data"]["purpose"], &made["data"]["commitId"]),
        (&json!("teardown"), &json!("fedcba9"))
    );
    let (status, busy) = yard.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, busy["deploymentId"].as_str()), (409, Some(again)), "{busy}");
    assert!(yard.pass(again, 0).await.ended);
    assert_eq!(shown(&yard, "qa-1").await["cleanupFailed"], Value::Null);
    let (status, nothing) = yard.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, nothing["code"].as_str()), (409, Some("invalid_state")));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_sweeper_repeats_it_three_times(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    failed_teardown(&yard, "qa-1", &yard.owner).await;
    assert_eq!(sweep_early(&yard).await, 0, "not before its time");
    for delay in [300, 3_600, 86_400] {
        assert_eq!(next_try(&pool).await, Some(delay));
        assert_eq!(sweep(&yard, &pool).await, 1);
        let teardown = yard.teardown().await;
        assert!(yard.pass(&teardown, 1).await.ended);
    }
    assert_eq!(next_try(&pool).await, None);
    assert_eq!(sweep(&yard, &pool).await, 0);
    assert!(shown(&yard, "qa-1").await["cleanupFailed"].is_object(), "it stays until somebody cleans up");
    yard.end().await;
}

async fn sweep_early(yard: &Yard) -> usize {
    yard.server.server.app.store.due_cleanups(10).await.unwrap().len()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_is_not_repeated_in_an_environment_that_is_in_use(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    failed_teardown(&yard, "qa-1", &yard.owner).await;
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let (session, deployment) = yard.claim("qa-1", &mate, "sessions").await;
    let path = format!("{}/cleanup", environment(&yard, "qa-1"));
    let (status, busy) = yard.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, busy["deploymentId"].as_str()), (409, Some(deployment.as_str())), "{busy}");
    assert_eq!(sweep(&yard, &pool).await, 0, "the slot is taken");
    assert!(yard.pass(&deployment, 0).await.ended);
    let (status, in_use) = yard.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, in_use["sessionId"].as_str()), (409, Some(session.as_str())), "{in_use}");
    assert_eq!(sweep(&yard, &pool).await, 0, "it would destroy what was deployed");
    // Who takes it over goes on with what is there: nothing is removed under them either.
    let taker = yard.server.member(&yard.owner, "acme", "developer").await;
    let claim = format!("/organizations/acme{}/force-claim", environment(&yard, "qa-1"));
    let (status, taken) = yard.server.json(Method::POST, &claim, &taker.token, Some(json!({}))).await;
    assert_eq!(status, 201, "{taken}");
    assert_eq!(yard.call(Method::POST, &path, json!({})).await.0, 409);
    // The teardown at the end of the session cleans up both.
    yard.release("qa-1", &taker, taken["data"]["sessionId"].as_str().unwrap()).await;
    let own = yard.teardown().await;
    assert!(yard.pass(&own, 0).await.ended);
    assert_eq!(shown(&yard, "qa-1").await["cleanupFailed"], Value::Null);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_maintainer_gives_it_up_with_a_reason(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let teardown = failed_teardown(&yard, "qa-1", &yard.owner).await;
    let path = format!("{}/cleanup", environment(&yard, "qa-1"));
    assert_eq!(yard.call(Method::DELETE, &path, json!({})).await.0, 422, "a reason is required");
    let (status, clean) = yard.call(Method::DELETE, &path, json!({ "reason": "removed by hand" })).await;
    assert_eq!((status, &clean["data"]["cleanupFailed"]), (200, &Value::Null), "{clean}");
    assert_eq!(yard.call(Method::DELETE, &path, json!({ "reason": "twice" })).await.0, 409);
    assert_eq!(sweep(&yard, &pool).await, 0);
    let event = yard.event("environment.cleanup_given_up").await;
    assert_eq!(event["data"]["reason"], "removed by hand", "{event}");
    assert_eq!(event["data"]["after"]["deploymentId"], teardown.as_str());
    assert_eq!(event["data"]["actor"]["id"], yard.owner.user.as_str());
    // A session that deploys nothing leaves nothing to clean up any more.
    let claim = format!("{}/sessions", environment(&yard, "qa-1"));
    let (_, made) = yard.call(Method::POST, &claim, json!({})).await;
    yard.release("qa-1", &yard.owner, made["data"]["sessionId"].as_str().unwrap()).await;
    assert_eq!(yard.teardown().await, teardown, "no other was made");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_template_s_environment_leaves_the_list_after_the_last_try(pool: PgPool) {
    let yard = Yard::new(&pool, REVIEW).await;
    failed_teardown(&yard, "pr-1", &yard.owner).await;
    let list = format!("/pipelines/{}/ephemeral-environments", yard.pipeline);
    let names = async || {
        let (_, listed) = yard.call(Method::GET, &list, Value::Null).await;
        let names = listed["data"].as_array().unwrap().iter();
        names.map(|one| one["envName"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let second = format!("{}/sessions", environment(&yard, "pr-2"));
    assert_eq!(names().await, ["pr-1"]);
    let (status, full) = yard.call(Method::POST, &second, json!({})).await;
    assert_eq!((status, full["code"].as_str()), (409, Some("template_full")), "{full}");
    // The environment itself can be claimed although the template is full.
    let first = format!("{}/sessions", environment(&yard, "pr-1"));
    let (status, claimed) = yard.call(Method::POST, &first, json!({})).await;
    assert_eq!(status, 201, "{claimed}");
    assert!(claimed["data"]["cleanupFailed"].is_object());
    yard.release("pr-1", &yard.owner, claimed["data"]["sessionId"].as_str().unwrap()).await;
    let own = yard.teardown().await;
    assert!(yard.pass(&own, 1).await.ended);
    for _ in 0..3 {
        assert_eq!(names().await, ["pr-1"]);
        assert_eq!(sweep(&yard, &pool).await, 1);
        let teardown = yard.teardown().await;
        assert!(yard.pass(&teardown, 1).await.ended);
    }
    assert_eq!(names().await, Vec::<String>::new());
    let (status, claimed) = yard.call(Method::POST, &second, json!({})).await;
    assert_eq!(status, 201, "{claimed}");
    yard.end().await;
}
