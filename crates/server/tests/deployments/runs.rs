//! A deployment from its beginning to its end, and what a runner may not do on the way.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::yard::Yard;

pub const DIAMOND: &str = r#"
stages:
  build: { steps: [{ image: a, run: "true" }, { image: a, run: "true" }] }
  left: { needs: [build], steps: [{ image: a, run: "true" }] }
  right: { needs: [build], steps: [{ image: a, run: "true" }] }
  ship: { needs: [left, right], steps: [{ image: a, run: "true" }] }
"#;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_diamond_runs_to_its_end(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    assert_eq!(yard.deployment(&id).await["waitingOn"], json!([{ "kind": "engine" }]));
    assert_eq!(yard.advance(&id).await.dispatch.len(), 1);
    assert_eq!(yard.stages(&id).await, ["queued", "pending", "pending", "pending"]);
    let waits = json!([{ "kind": "runner", "stage": "build", "pool": "default" }]);
    assert_eq!(yard.deployment(&id).await["waitingOn"], waits);
    assert_eq!(yard.pass(&id, 0).await.dispatch.len(), 2);
    yard.pass(&id, 0).await;
    yard.pass(&id, 0).await;
    assert!(yard.pass(&id, 0).await.ended);
    let shown = yard.deployment(&id).await;
    assert_eq!((shown["status"].as_str(), &shown["waitingOn"]), (Some("succeeded"), &json!([])));
    assert!(shown["startedAt"].is_string() && shown["endedAt"].is_string());
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_runner_that_is_busy_is_seen(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    // It has no room for another job, so it does not ask for one.
    let long_ago = "update runners set last_seen_at = clock_timestamp() - interval '1 hour'";
    sqlx::query(long_ago).execute(&pool).await.unwrap();
    // A server remembers for half a second who a runner is, and that it has seen it.
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 200);
    let (_, listed) = yard.call(Method::GET, "/runners", Value::Null).await;
    let time = |field: &str| listed["data"][0][field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time("lastSeenAt") > time("createdAt"), "{listed}");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_follows_a_failure_is_skipped_and_can_be_tried_again(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    assert!(yard.pass(&id, 3).await.ended);
    assert_eq!(yard.stages(&id).await, ["failed", "skipped", "skipped", "skipped"]);
    let shown = yard.deployment(&id).await;
    assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("failed"), Some("step_failed")));
    let steps = &shown["stages"][0]["steps"];
    assert_eq!((steps[0]["exitCode"].as_i64(), steps[1]["status"].as_str()), (Some(3), Some("skipped")));

    let (status, _) =
        yard.call(Method::POST, &format!("/deployments/{id}/stages/ship/retry"), json!({})).await;
    assert_eq!(status, 409, "it needs others");
    let (status, _) =
        yard.call(Method::POST, &format!("/deployments/{id}/stages/build/retry"), json!({})).await;
    assert_eq!(status, 202);
    for _ in 0..4 {
        yard.pass(&id, 0).await;
    }
    assert_eq!(yard.status(&id).await, "succeeded");
    let path = format!("/deployments/{id}/stages/build/attempts");
    let (_, attempts) = yard.call(Method::GET, &path, Value::Null).await;
    let told: Vec<&str> =
        attempts["data"].as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(told, ["failed", "succeeded"]);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_job_is_its_runners_alone(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let advance = yard.advance(&id).await;
    let job = yard.take(&advance).await;
    assert!(yard.advance(&id).await.dispatch.is_empty(), "it is taken");
    let beat = yard.say(&job, "/heartbeat", json!({})).await;
    assert_eq!((beat.0, &beat.1["data"]["cancel"]), (200, &Value::Null));

    let lost = "update jobs set lease_expires_at = clock_timestamp() - interval '31 seconds', touched = true";
    sqlx::query(lost).execute(&pool).await.unwrap();
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(yard.say(&job, &start, json!({})).await.0, 410);
    assert!(yard.advance(&id).await.ended);
    let shown = yard.deployment(&id).await;
    assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("errored"), Some("runner_lost")));
    // What it says afterwards changes nothing.
    assert_eq!(yard.say(&job, "/complete", json!({})).await.0, 200);
    assert_eq!(yard.status(&id).await, "errored");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_attempt_that_touched_nothing_is_made_again(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    assert_eq!(yard.say(&job, "/complete", json!({ "error": "no such commit" })).await.0, 200);
    assert!(yard.advance(&id).await.dispatch.is_empty(), "not at once");
    let waits = yard.deployment(&id).await["waitingOn"].clone();
    assert_eq!(waits[0]["kind"], "retry", "{waits}");
    sqlx::query("update stages set retry_at = clock_timestamp()").execute(&pool).await.unwrap();
    let again = yard.advance(&id).await;
    assert_eq!(again.dispatch.len(), 1);
    let shown = yard.deployment(&id).await;
    assert_eq!(
        (shown["status"].as_str(), shown["stages"][0]["attempt"].as_i64()),
        (Some("running"), Some(2))
    );
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_revoked_runner_is_told_to_stop(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    let (_, listed) = yard.call(Method::GET, "/runners", Value::Null).await;
    let runner = listed["data"][0]["id"].as_str().unwrap();
    assert_eq!(yard.call(Method::DELETE, &format!("/runners/{runner}"), Value::Null).await.0, 200);
    let (status, answer) = yard.say(&job, "/heartbeat", json!({})).await;
    assert_eq!((status, answer["code"].as_str()), (410, Some("runner_revoked")));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_took_too_long_says_so_and_until_when_it_may_take(pool: PgPool) {
    let definition = "stages: { build: { timeout: 90s, steps: [{ image: a, run: b }] } }";
    let yard = Yard::new(&pool, definition).await;
    for outside in [false, true] {
        let id = yard.start().await;
        let advance = yard.advance(&id).await;
        let queued = yard.deployment(&id).await;
        assert!(queued["deadlineAt"].is_string(), "it gives up waiting for a runner: {queued}");
        let job = yard.take(&advance).await;
        let running = yard.deployment(&id).await;
        let time = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let stage = &running["stages"][0];
        let may_take = time(&stage["deadlineAt"]).duration_since(time(&stage["startedAt"]));
        assert!((89..=91).contains(&may_take.as_secs()), "{stage}");
        assert_eq!(running["deadlineAt"], stage["deadlineAt"]);
        let (_, listed) = yard.call(Method::GET, "/deployments?limit=1", Value::Null).await;
        assert_eq!(listed["data"][0]["deadlineAt"], running["deadlineAt"]);

        let step = &job.steps[0];
        let mut end = json!({ "timedOut": true });
        if outside {
            end["error"] = json!("the stage took more than 90 s");
        } else {
            assert_eq!(yard.say(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
            let failed = json!({ "status": "failed", "reason": "the step took more than 90 s" });
            assert_eq!(yard.say(&job, &format!("/steps/{step}/end"), failed).await.0, 200);
        }
        assert_eq!(yard.say(&job, "/complete", end).await.0, 200);
        assert!(yard.advance(&id).await.ended, "it is not tried again");
        let shown = yard.deployment(&id).await;
        assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("failed"), Some("timed_out")));
        assert_eq!(
            (shown["stages"][0]["reason"].as_str(), &shown["deadlineAt"]),
            (Some("timed_out"), &Value::Null)
        );
    }
    yard.end().await;
}
