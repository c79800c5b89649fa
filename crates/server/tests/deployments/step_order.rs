//! Steps start in order, and end only after they have started: what is checked at a start can't be left out.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;

const SHOP: &str = r#"
environments:
  production: {}
stages:
  ship:
    environment: production
    steps: [{ image: a, run: "scan" }, { image: a, run: "deploy" }]
"#;

async fn start(fixture: &DeploymentFixture, job: &Job, step: usize) -> (u16, Value) {
    fixture.report(job, &format!("/steps/{}/start", job.steps[step]), json!({})).await
}

async fn end(fixture: &DeploymentFixture, job: &Job, step: usize, status: &str) -> (u16, Value) {
    fixture.report(job, &format!("/steps/{}/end", job.steps[step]), json!({ "status": status })).await
}

fn assert_refused((status, response): &(u16, Value), hint: &str) {
    assert_eq!((*status, response["code"].as_str()), (409, Some("invalid_state")), "{response}");
    assert!(response["detail"].as_str().unwrap().contains(hint), "{response}");
}

#[tokio::test]
async fn a_step_that_has_not_started_can_not_have_succeeded_or_failed() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    // What is frozen meanwhile is refused at the start, so a runner that wants to ignore it leaves the start out.
    let freeze = json!({
        "name": "Holidays", "reason": "Everybody is away.", "environments": ["production"],
        "from": "2020-01-01T00:00:00Z", "to": "2190-01-01T00:00:00Z",
    });
    let (status, made) = fixture.call(Method::POST, "/freezes", freeze).await;
    assert_eq!(status, 201, "{made}");
    for status in ["succeeded", "failed"] {
        assert_refused(&end(&fixture, &job, 0, status).await, "Request its start first");
    }
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    fixture.advance(&id).await;
    let stage = fixture.deployment(&id).await["stages"][0].clone();
    assert_ne!(stage["status"], "succeeded");
    assert_eq!(stage["steps"][0]["status"], "skipped");
    fixture.end().await;
}

#[tokio::test]
async fn what_was_not_started_may_be_reported_as_errored_or_canceled() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    for status in ["errored", "canceled"] {
        let id = fixture.start().await;
        let job = fixture.take(&fixture.advance(&id).await).await;
        let (code, response) = end(&fixture, &job, 0, status).await;
        assert_eq!(code, 200, "{response}");
        assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
        fixture.advance(&id).await;
        let stage = fixture.deployment(&id).await["stages"][0].clone();
        assert_eq!(stage["steps"][0]["status"], status);
        assert_ne!(stage["status"], "succeeded");
    }
    fixture.end().await;
}

#[tokio::test]
async fn steps_start_in_order_and_after_the_success_of_those_before() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_refused(&start(&fixture, &job, 1).await, "in the order");
    assert_eq!(start(&fixture, &job, 0).await.0, 200);
    assert_eq!(start(&fixture, &job, 0).await.0, 200, "the same request again");
    assert_refused(&start(&fixture, &job, 1).await, "in the order");
    assert_eq!(end(&fixture, &job, 0, "failed").await.0, 200);
    assert_refused(&start(&fixture, &job, 1).await, "in the order");
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    fixture.advance(&id).await;
    let stage = fixture.deployment(&id).await["stages"][0].clone();
    assert_eq!((&stage["status"], &stage["reason"]), (&json!("failed"), &json!("step_failed")));
    fixture.end().await;
}
