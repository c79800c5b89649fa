//! A retry with `latest` plans what it retries by the newest definition.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const BEFORE: &str = "
environments: { production: {} }
stages:
  build: { steps: [{ image: a, run: 'true' }] }
  ship: { needs: [build], environment: production, steps: [{ image: a, run: 'false' }] }
  report: { needs: [ship], steps: [{ image: a, run: 'true' }] }
";

async fn define(fixture: &DeploymentFixture, definition: &str) {
    let body = json!({ "definition": definition });
    let (status, response) = fixture.call(Method::PUT, "/pipelines/shop", body).await;
    assert_eq!(status, 200, "{response}");
}

async fn retry_latest(fixture: &DeploymentFixture, id: &str, stage: &str) -> (u16, Value) {
    let path = format!("/deployments/{id}/stages/{stage}/retry");
    fixture.call(Method::POST, &path, json!({ "inputs": "latest" })).await
}

/// Returns a deployment whose stage `ship` has failed.
async fn failed(fixture: &DeploymentFixture) -> String {
    // An approval needs a complete commit id.
    let body = json!({ "commitId": "0123456789abcdef0123456789abcdef01234567" });
    let (status, made) = fixture.call(Method::POST, "/pipelines/shop/deployments", body).await;
    assert_eq!(status, 202, "{made}");
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    fixture.run_next_job(&id, 0).await;
    assert!(fixture.run_next_job(&id, 1).await.ended);
    assert_eq!(fixture.stages(&id).await, ["succeeded", "failed", "skipped"]);
    id
}

fn stage<'a>(record: &'a Value, key: &str) -> &'a Value {
    record["stages"].as_array().unwrap().iter().find(|stage| stage["key"] == key).unwrap()
}

#[tokio::test]
async fn an_approval_that_was_added_since_is_required() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, BEFORE).await;
    let id = failed(&fixture).await;
    let approval = "production: { approval: { roles: [maintainer] } }";
    define(&fixture, &BEFORE.replace("production: {}", approval)).await;
    assert_eq!(retry_latest(&fixture, &id, "ship").await.0, 202);
    assert!(fixture.advance(&id).await.dispatch.is_empty(), "the stage needs an approval");
    assert_eq!(fixture.stages(&id).await, ["succeeded", "waiting", "pending"]);
    fixture.end().await;
}

#[tokio::test]
async fn pool_timeout_name_needs_and_condition_are_those_of_the_newest_definition() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, BEFORE).await;
    let id = failed(&fixture).await;
    define(
        &fixture,
        "
environments: { production: {} }
stages:
  build: { name: New build, steps: [{ image: a, run: 'true' }] }
  scan: { needs: [build], steps: [{ image: a, run: 'true' }] }
  ship:
    name: Ship it
    needs: [scan]
    environment: production
    runner: { pool: large }
    timeout: 5m
    steps: [{ image: a, run: 'true', retry: { attempts: 4, backoff: 7s } }]
  notify: { needs: [ship], steps: [{ image: a, run: 'true' }] }
  report: { needs: [ship], if: 'branch == \"main\"', steps: [{ image: a, run: 'true' }] }
  unrelated: { steps: [{ image: a, run: 'true' }] }
",
    )
    .await;
    assert_eq!(retry_latest(&fixture, &id, "ship").await.0, 202);
    // The new stage that `ship` needs runs first.
    fixture.run_next_job(&id, 0).await;
    let record = fixture.deployment(&id).await;
    let keys: Vec<&str> =
        record["stages"].as_array().unwrap().iter().map(|stage| stage["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["build", "scan", "ship", "notify", "report"], "in the order of the file");
    assert_eq!(
        fixture.stages(&id).await,
        ["succeeded", "succeeded", "queued", "pending", "pending"],
        "{record}"
    );
    let ship = stage(&record, "ship");
    assert_eq!(
        (&ship["name"], &ship["pool"], &ship["needs"]),
        (&json!("Ship it"), &json!("large"), &json!(["scan"]))
    );
    assert_eq!(stage(&record, "build")["name"], "build", "a stage that is not retried stays as it is");
    let columns: (i64, i32, i64) =
        sqlx::query_as("select timeout_seconds, attempts, backoff_seconds from stages where key = 'ship'")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(columns, (300, 4, 7));
    let planned: Option<String> =
        sqlx::query_scalar("select verdict_reason from stages where key = 'report'")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(planned.as_deref(), Some("branch_unknown"));
    fixture.end().await;
}

#[tokio::test]
async fn a_stage_that_the_newest_definition_lacks_is_not_retried_and_one_after_it_is_skipped() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, BEFORE).await;
    let id = failed(&fixture).await;
    define(&fixture, "stages: { build: { steps: [{ image: a, run: 'true' }] } }").await;
    let (status, response) = retry_latest(&fixture, &id, "ship").await;
    assert_eq!((status, response["code"].as_str()), (409, Some("invalid_state")), "{response}");
    assert!(response["detail"].as_str().unwrap().contains("newest definition"), "{response}");
    assert_eq!(fixture.stages(&id).await, ["succeeded", "failed", "skipped"], "nothing was changed");
    let shorter = BEFORE.replace("  report: { needs: [ship], steps: [{ image: a, run: 'true' }] }\n", "");
    define(&fixture, &shorter).await;
    assert_eq!(retry_latest(&fixture, &id, "ship").await.0, 202);
    assert!(fixture.run_next_job(&id, 0).await.ended);
    let record = fixture.deployment(&id).await;
    assert_eq!(record["status"], "succeeded");
    let report = stage(&record, "report");
    assert_eq!((&report["status"], &report["reason"]), (&json!("skipped"), &json!("invalid_definition")));
    fixture.end().await;
}

/// Jobs read the steps of the deployment's definition. So its version can't change while some are at work.
#[tokio::test]
async fn the_definition_of_a_deployment_does_not_change_while_another_stage_is_at_work() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, crate::runs::DIAMOND).await;
    let id = fixture.start().await;
    fixture.run_next_job(&id, 0).await;
    fixture.run_next_job(&id, 1).await;
    assert_eq!(fixture.stages(&id).await, ["succeeded", "failed", "queued", "skipped"]);
    define(&fixture, &crate::runs::DIAMOND.replace("left: {", "left: { name: New,")).await;
    let (status, response) = retry_latest(&fixture, &id, "left").await;
    assert_eq!((status, response["code"].as_str()), (409, Some("invalid_state")), "{response}");
    fixture.run_next_job(&id, 0).await;
    assert_eq!(retry_latest(&fixture, &id, "left").await.0, 202);
    assert_eq!(fixture.advance(&id).await.dispatch.len(), 1);
    fixture.end().await;
}
