//! Reports of runners are stored, sanitized or rejected, and never cause a server error.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{DeploymentFixture, Job};
use crate::runs::DIAMOND;
use crate::support::database::TestDatabase;

const AWKWARD: [&str; 3] = ["a\u{0}b", "a\u{202e}b", "a\u{1b}[2Jb"];

async fn started(fixture: &DeploymentFixture, id: &str) -> Job {
    let job = fixture.take(&fixture.advance(id).await).await;
    let step = &job.steps[0];
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    job
}

async fn end(fixture: &DeploymentFixture, job: &Job, outputs: Value) -> (u16, Value) {
    let body = json!({ "status": "succeeded", "exitCode": 0, "outputs": outputs });
    fixture.report(job, &format!("/steps/{}/end", job.steps[0]), body).await
}

#[tokio::test]
async fn outputs_that_no_variable_can_hold_are_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = started(&fixture, &id).await;
    for (name, value, pointer) in [
        ("a", "b\u{0}c", "/outputs/a"),
        ("a", "b\u{7f}c", "/outputs/a"),
        ("a", &"x".repeat(32 * 1024 + 1), "/outputs/a"),
        ("a b", "c", "/outputs/a b"),
        ("a\u{0}", "c", "/outputs/a\u{fffd}"),
    ] {
        let (status, response) = end(&fixture, &job, json!({ name: value })).await;
        assert_eq!((status, response["code"].as_str()), (422, Some("invalid_request")), "{response}");
        assert_eq!(response["errors"][0]["pointer"], pointer, "{response}");
    }
    let kept = json!({ "lines": "one\n\ttwo", "bidi": "a\u{202e}b", "full": "x".repeat(32 * 1024) });
    let (status, response) = end(&fixture, &job, kept.clone()).await;
    assert_eq!(status, 200, "{response}");
    assert_eq!(fixture.deployment(&id).await["stages"][0]["steps"][0]["outputs"], kept);
    fixture.end().await;
}

#[tokio::test]
async fn all_outputs_of_a_deployment_fit_into_the_variables_of_a_later_stage() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = started(&fixture, &id).await;
    let large = |count: usize| {
        let values = (0..count).map(|number| (format!("v{number}"), json!("x".repeat(32 * 1024))));
        Value::Object(values.collect())
    };
    let (status, response) = end(&fixture, &job, large(8)).await;
    assert_eq!((status, response["errors"][0]["pointer"].as_str()), (422, Some("/outputs")), "{response}");
    assert_eq!(end(&fixture, &job, large(4)).await.0, 200);
    assert_eq!(end(&fixture, &job, large(4)).await.0, 200, "the same report again");
    // The second step of the same stage may add what is left.
    let second = &job.steps[1];
    assert_eq!(fixture.report(&job, &format!("/steps/{second}/start"), json!({})).await.0, 200);
    let report = |count| json!({ "status": "succeeded", "exitCode": 0, "outputs": large(count) });
    assert_eq!(fixture.report(&job, &format!("/steps/{second}/end"), report(4)).await.0, 422);
    assert_eq!(fixture.report(&job, &format!("/steps/{second}/end"), report(3)).await.0, 200);
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    fixture.end().await;
}

#[tokio::test]
async fn reasons_and_errors_are_sanitized_and_truncated() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let long = format!("{}\u{0}", "ä".repeat(10_000));
    for text in AWKWARD.into_iter().chain([long.as_str()]) {
        let id = fixture.start().await;
        let job = started(&fixture, &id).await;
        let body = json!({ "status": "failed", "exitCode": 1, "reason": text });
        let (status, response) = fixture.report(&job, &format!("/steps/{}/end", job.steps[0]), body).await;
        assert_eq!(status, 200, "{response}");
        let (status, response) = fixture.report(&job, "/complete", json!({ "error": text })).await;
        assert_eq!(status, 200, "{response}");
        fixture.advance(&id).await;
        let stage = fixture.deployment(&id).await["stages"][0].clone();
        for kept in [&stage["steps"][0]["reason"], &stage["detail"]] {
            let kept = kept.as_str().unwrap();
            assert!(kept.chars().count() <= 4_001 && !kept.contains('\u{0}'), "{kept:.20}");
            assert!(!kept.contains('\u{202e}') && !kept.contains('\u{1b}'), "{kept:.20}");
        }
    }
    fixture.end().await;
}

#[tokio::test]
async fn no_runner_report_causes_a_server_error() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = started(&fixture, &id).await;
    let step = &job.steps[0];
    for key in ["%00", "a%00b", "a%E2%80%AEb", &"a".repeat(200)] {
        let response = fixture.request_by(Method::GET, &job, &format!("/caches/{key}")).send().await.unwrap();
        assert_eq!(response.status(), 404, "{key:.20}");
    }
    for at in ["-009999-01-02T01:59:59Z", "1969-12-31T23:59:59Z"] {
        let path = format!("/steps/{step}/logs?offset=0&at={at}");
        let request = fixture.request_by(Method::POST, &job, &path);
        assert_eq!(request.body("x").send().await.unwrap().status(), 422, "{at}");
    }
    for offset in [u64::MAX, i64::MAX as u64, 1] {
        let (status, response) = fixture.log(&job, step, offset, vec![b'x'; 300_000]).await;
        assert_eq!((status, response["expected"].as_i64()), (409, Some(0)), "{response}");
    }
    for text in AWKWARD.into_iter().chain(["a\u{200b}b", &*"v".repeat(101)]) {
        let (status, response) = fixture.request_job(json!({ "waitSeconds": 0, "version": text })).await;
        assert_eq!(
            (status, response["errors"][0]["pointer"].as_str()),
            (422, Some("/version")),
            "{response}"
        );
    }
    assert_eq!(fixture.request_job(json!({ "waitSeconds": 0, "version": "1.2.3" })).await.0, 204);
    fixture.end().await;
}
