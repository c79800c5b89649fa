//! Pools that are restricted to pipelines and environments: checked when a definition is saved, when a stage
//! is about to be queued, and when its job is about to be assigned. Also: the digests of images that runners
//! report.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const SHOP: &str = r#"
environments: { production: {} }
ephemeralEnvironments: { qa-1: { stages: [build] }, "pr-*": { max: 5, stages: [build] } }
stages:
  build: { steps: [{ image: a, run: "true" }] }
  release: { needs: [build], environment: production, steps: [{ image: a, run: "true" }] }
"#;

/// Restricts the default pool, which runs all stages.
async fn restrict(fixture: &DeploymentFixture, body: Value) {
    let (status, response) = fixture.call(Method::PATCH, "/runner-pools/default", body).await;
    assert_eq!(status, 200, "{response}");
}

/// Creates another pipeline of the same organization.
async fn another(fixture: &DeploymentFixture, slug: &str) -> String {
    let body = json!({ "name": slug, "slug": slug, "definition": SHOP });
    let (status, made) = fixture.call(Method::POST, "/pipelines", body).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

fn reasons(record: &Value) -> Vec<(&str, Option<&str>)> {
    let stages = record["stages"].as_array().unwrap();
    stages.iter().map(|stage| (stage["status"].as_str().unwrap(), stage["reason"].as_str())).collect()
}

const REFUSED: (&str, Option<&str>) = ("failed", Some("pool_restricted"));

#[tokio::test]
async fn a_stage_of_another_pipeline_is_not_queued() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let other = another(&fixture, "other").await;
    restrict(&fixture, json!({ "pipelines": [fixture.pipeline] })).await;
    let id = fixture.start_of(&other).await;
    let advance = fixture.advance(&id).await;
    assert!(advance.ended && advance.dispatch.is_empty(), "{advance:?}");
    let record = fixture.deployment(&id).await;
    assert_eq!((&record["status"], &record["reason"]), (&json!("failed"), &json!("pool_restricted")));
    assert_eq!(reasons(&record), [REFUSED, ("skipped", Some("upstream_failed"))]);
    let detail = record["stages"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("`default`") && detail.contains("admin"), "{detail}");
    assert_eq!(record["stages"][0]["attempt"], 0, "no attempt was made");
    // A pipeline of the pool can run, and another one can once an admin has added it.
    assert_eq!(fixture.advance(&fixture.start().await).await.dispatch.len(), 1);
    restrict(&fixture, json!({ "pipelines": [fixture.pipeline, other] })).await;
    let (status, retried) =
        fixture.call(Method::POST, &format!("/deployments/{id}/stages/build/retry"), json!({})).await;
    assert_eq!(status, 202, "{retried}");
    assert_eq!(fixture.advance(&id).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn a_job_is_not_assigned_if_its_pool_was_restricted_meanwhile() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let other = another(&fixture, "other").await;
    let (own_id, other_id) = (fixture.start().await, fixture.start_of(&other).await);
    let (own, waiting) = (fixture.advance(&own_id).await, fixture.advance(&other_id).await);
    assert_eq!(waiting.dispatch.len(), 1);
    restrict(&fixture, json!({ "pipelines": [fixture.pipeline] })).await;
    assert!(fixture.try_take(&waiting).await.is_none());
    assert!(fixture.try_take(&waiting).await.is_none(), "nor at a second poll");
    assert!(fixture.advance(&other_id).await.ended);
    let record = fixture.deployment(&other_id).await;
    assert_eq!(reasons(&record)[0], REFUSED);
    assert_eq!(record["stages"][0]["steps"][0]["status"], "skipped");
    assert!(fixture.try_take(&own).await.is_some());
    fixture.end().await;
}

#[tokio::test]
async fn a_pool_of_an_environment_runs_only_stages_that_deploy_there() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    restrict(&fixture, json!({ "pipelines": [fixture.pipeline], "environments": ["production"] })).await;
    // The first stage deploys nowhere.
    let id = fixture.start().await;
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(reasons(&fixture.deployment(&id).await)[0], REFUSED);
    // In a session a stage deploys to the session's environment, whatever it names.
    let (session, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(reasons(&fixture.deployment(&id).await), [REFUSED]);
    fixture.release("qa-1", &fixture.owner, &session).await;

    restrict(&fixture, json!({ "environments": ["production", "none"] })).await;
    let id = fixture.start().await;
    let advance = fixture.run_next_job(&id, 0).await;
    assert_eq!(advance.dispatch.len(), 1, "the release is queued");
    restrict(&fixture, json!({ "environments": ["none"] })).await;
    assert!(fixture.try_take(&advance).await.is_none());
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(reasons(&fixture.deployment(&id).await), [("succeeded", None), REFUSED]);

    restrict(&fixture, json!({ "environments": ["pr-*"] })).await;
    let (_, id) = fixture.claim("pr-7", &fixture.owner, "sessions").await;
    assert_eq!(fixture.advance(&id).await.dispatch.len(), 1);
    restrict(&fixture, json!({ "pipelines": null, "environments": null })).await;
    assert_eq!(fixture.advance(&fixture.start().await).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn a_definition_that_names_a_pool_of_other_pipelines_is_not_saved() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let other = another(&fixture, "other").await;
    let body = json!({ "name": "big-1", "pool": "big" });
    assert_eq!(fixture.call(Method::POST, "/runners", body).await.0, 201);
    let pools = json!({ "pipelines": [fixture.pipeline] });
    let (status, response) = fixture.call(Method::PATCH, "/runner-pools/big", pools).await;
    assert_eq!(status, 200, "{response}");
    let definition = SHOP.replace("build: {", "build: { runner: { pool: big },");
    let update = json!({ "definition": definition });
    let path = format!("/pipelines/{other}");
    let (status, response) = fixture.call(Method::PUT, &path, update.clone()).await;
    assert_eq!((status, response["code"].as_str()), (422, Some("invalid_definition")), "{response}");
    assert_eq!(response["errors"][0]["pointer"], "/definition");
    assert!(response["detail"].as_str().unwrap().contains(&other), "{response}");
    let create = json!({ "name": "New", "definition": definition });
    assert_eq!(fixture.call(Method::POST, "/pipelines", create).await.0, 422);
    // Other fields of the pipeline can be changed, and pipelines of the pool may name it.
    assert_eq!(fixture.call(Method::PUT, &path, json!({ "name": "Other one" })).await.0, 200);
    let (status, response) =
        fixture.call(Method::PUT, &format!("/pipelines/{}", fixture.pipeline), update).await;
    assert_eq!(status, 200, "{response}");
    fixture.end().await;
}

#[tokio::test]
async fn a_steps_image_is_recorded_by_its_digest() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    let (digest, other) = (format!("sha256:{}", "0a".repeat(32)), format!("sha256:{}", "0b".repeat(32)));
    for wrong in ["", "latest", "sha256:0a", &digest.to_uppercase(), &format!("{digest}\u{0}")] {
        let (status, response) = fixture.report(&job, &start, json!({ "imageDigest": wrong })).await;
        assert_eq!(
            (status, response["errors"][0]["pointer"].as_str()),
            (422, Some("/imageDigest")),
            "{response}"
        );
    }
    let record = async || fixture.deployment(&id).await["stages"][0]["steps"][0]["imageDigest"].clone();
    assert_eq!(record().await, Value::Null);
    // Idempotent: the first report is kept, and a repeated request gets the same response.
    for reported in [&digest, &digest, &other] {
        assert_eq!(fixture.report(&job, &start, json!({ "imageDigest": reported })).await.0, 200);
    }
    assert_eq!(record().await, json!(digest));
    let path = format!("/deployments/{id}/stages/build/attempts");
    let (_, attempts) = fixture.call(Method::GET, &path, Value::Null).await;
    assert_eq!(attempts["data"][0]["steps"][0]["imageDigest"], json!(digest), "{attempts}");
    // Older runners, and those without containers, report no digest.
    fixture.run_job(&job, 0).await;
    fixture.end().await;
}
