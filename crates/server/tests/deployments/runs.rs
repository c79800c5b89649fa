//! A deployment from start to end, and what its runners may not do.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

pub const DIAMOND: &str = r#"
stages:
  build: { steps: [{ image: a, run: "true" }, { image: a, run: "true" }] }
  left: { needs: [build], steps: [{ image: a, run: "true" }] }
  right: { needs: [build], steps: [{ image: a, run: "true" }] }
  ship: { needs: [left, right], steps: [{ image: a, run: "true" }] }
"#;

#[tokio::test]
async fn a_diamond_runs_to_its_end() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    assert_eq!(fixture.deployment(&id).await["waitingOn"], json!([{ "kind": "engine" }]));
    assert_eq!(fixture.advance(&id).await.dispatch.len(), 1);
    assert_eq!(fixture.stages(&id).await, ["queued", "pending", "pending", "pending"]);
    let waits = json!([{ "kind": "runner", "stage": "build", "pool": "default", "online": 0 }]);
    assert_eq!(fixture.deployment(&id).await["waitingOn"], waits);
    assert_eq!(fixture.run_next_job(&id, 0).await.dispatch.len(), 2);
    fixture.run_next_job(&id, 0).await;
    fixture.run_next_job(&id, 0).await;
    assert!(fixture.run_next_job(&id, 0).await.ended);
    let record = fixture.deployment(&id).await;
    assert_eq!((record["status"].as_str(), &record["waitingOn"]), (Some("succeeded"), &json!([])));
    assert!(record["startedAt"].is_string() && record["endedAt"].is_string());
    fixture.end().await;
}

#[tokio::test]
async fn a_heartbeat_of_a_busy_runner_updates_last_seen_at() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    // It has no free slot, so it does not poll for jobs.
    let long_ago = "update runners set last_seen_at = clock_timestamp() - interval '1 hour'";
    sqlx::query(long_ago).execute(&pool).await.unwrap();
    // A server caches a runner, and the update of its `last_seen_at`, for half a second.
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 200);
    let (_, list) = fixture.call(Method::GET, "/runners", Value::Null).await;
    let time = |field: &str| list["data"][0][field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time("lastSeenAt") > time("createdAt"), "{list}");
    fixture.end().await;
}

#[tokio::test]
async fn stages_after_a_failure_are_skipped_and_can_be_retried() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    assert!(fixture.run_next_job(&id, 3).await.ended);
    assert_eq!(fixture.stages(&id).await, ["failed", "skipped", "skipped", "skipped"]);
    let record = fixture.deployment(&id).await;
    assert_eq!((record["status"].as_str(), record["reason"].as_str()), (Some("failed"), Some("step_failed")));
    let steps = &record["stages"][0]["steps"];
    assert_eq!((steps[0]["exitCode"].as_i64(), steps[1]["status"].as_str()), (Some(3), Some("skipped")));

    let (status, _) =
        fixture.call(Method::POST, &format!("/deployments/{id}/stages/ship/retry"), json!({})).await;
    assert_eq!(status, 409, "its upstream stages have not succeeded");
    let (status, _) =
        fixture.call(Method::POST, &format!("/deployments/{id}/stages/build/retry"), json!({})).await;
    assert_eq!(status, 202);
    for _ in 0..4 {
        fixture.run_next_job(&id, 0).await;
    }
    assert_eq!(fixture.status(&id).await, "succeeded");
    let path = format!("/deployments/{id}/stages/build/attempts");
    let (_, attempts) = fixture.call(Method::GET, &path, Value::Null).await;
    let statuses: Vec<&str> =
        attempts["data"].as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["failed", "succeeded"]);
    fixture.end().await;
}

#[tokio::test]
async fn a_job_belongs_to_one_runner_until_its_lease_ends() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let advance = fixture.advance(&id).await;
    let job = fixture.take(&advance).await;
    assert!(fixture.advance(&id).await.dispatch.is_empty(), "the job is assigned");
    let beat = fixture.report(&job, "/heartbeat", json!({})).await;
    assert_eq!((beat.0, &beat.1["data"]["cancel"]), (200, &Value::Null));

    let lost = "update jobs set lease_expires_at = clock_timestamp() - interval '31 seconds', touched = true";
    sqlx::query(lost).execute(&pool).await.unwrap();
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(fixture.report(&job, &start, json!({})).await.0, 410);
    assert!(fixture.advance(&id).await.ended);
    let record = fixture.deployment(&id).await;
    assert_eq!(
        (record["status"].as_str(), record["reason"].as_str()),
        (Some("errored"), Some("runner_lost"))
    );
    // Later reports change nothing.
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    assert_eq!(fixture.status(&id).await, "errored");
    fixture.end().await;
}

#[tokio::test]
async fn a_job_is_queued_again_unless_a_step_has_started() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(fixture.stages(&id).await[0], "running");
    fixture.requeue(&job).await;
    assert_eq!(fixture.stages(&id).await[0], "queued");
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    let again = fixture.advance(&id).await;
    assert_eq!(again.dispatch.len(), 1, "the same attempt waits for a runner");

    let job = fixture.take(&again).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(fixture.report(&job, &start, json!({})).await.0, 200);
    fixture.requeue(&job).await;
    assert_eq!(fixture.stages(&id).await[0], "running");
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 200);
    fixture.end().await;
}

#[tokio::test]
async fn an_attempt_that_started_no_step_is_retried() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(fixture.report(&job, "/complete", json!({ "error": "no such commit" })).await.0, 200);
    assert!(fixture.advance(&id).await.dispatch.is_empty(), "it backs off first");
    let waits = fixture.deployment(&id).await["waitingOn"].clone();
    assert_eq!(waits[0]["kind"], "retry", "{waits}");
    sqlx::query("update stages set retry_at = clock_timestamp()").execute(&pool).await.unwrap();
    let again = fixture.advance(&id).await;
    assert_eq!(again.dispatch.len(), 1);
    let record = fixture.deployment(&id).await;
    assert_eq!(
        (record["status"].as_str(), record["stages"][0]["attempt"].as_i64()),
        (Some("running"), Some(2))
    );
    fixture.end().await;
}

#[tokio::test]
async fn a_revoked_runner_is_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (_, list) = fixture.call(Method::GET, "/runners", Value::Null).await;
    let runner = list["data"][0]["id"].as_str().unwrap();
    assert_eq!(fixture.call(Method::DELETE, &format!("/runners/{runner}"), Value::Null).await.0, 200);
    let (status, response) = fixture.report(&job, "/heartbeat", json!({})).await;
    assert_eq!((status, response["code"].as_str()), (410, Some("runner_revoked")));
    fixture.end().await;
}

#[tokio::test]
async fn a_timeout_is_recorded_and_the_deadline_is_shown() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = "stages: { build: { timeout: 90s, steps: [{ image: a, run: b }] } }";
    let fixture = DeploymentFixture::new(&pool, definition).await;
    for outside in [false, true] {
        let id = fixture.start().await;
        let advance = fixture.advance(&id).await;
        let queued = fixture.deployment(&id).await;
        assert!(queued["deadlineAt"].is_string(), "waiting for a runner has a deadline: {queued}");
        let job = fixture.take(&advance).await;
        let running = fixture.deployment(&id).await;
        let time = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let stage = &running["stages"][0];
        let may_take = time(&stage["deadlineAt"]).duration_since(time(&stage["startedAt"]));
        assert!((89..=91).contains(&may_take.as_secs()), "{stage}");
        assert_eq!(running["deadlineAt"], stage["deadlineAt"]);
        let (_, list) = fixture.call(Method::GET, "/deployments?limit=1", Value::Null).await;
        assert_eq!(list["data"][0]["deadlineAt"], running["deadlineAt"]);

        let step = &job.steps[0];
        let mut end = json!({ "timedOut": true });
        if outside {
            end["error"] = json!("the stage took more than 90 s");
        } else {
            assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
            let failed = json!({ "status": "failed", "reason": "the step took more than 90 s" });
            assert_eq!(fixture.report(&job, &format!("/steps/{step}/end"), failed).await.0, 200);
        }
        assert_eq!(fixture.report(&job, "/complete", end).await.0, 200);
        assert!(fixture.advance(&id).await.ended, "it is not retried");
        let record = fixture.deployment(&id).await;
        assert_eq!(
            (record["status"].as_str(), record["reason"].as_str()),
            (Some("failed"), Some("timed_out"))
        );
        assert_eq!(
            (record["stages"][0]["reason"].as_str(), &record["deadlineAt"]),
            (Some("timed_out"), &Value::Null)
        );
    }
    fixture.end().await;
}
