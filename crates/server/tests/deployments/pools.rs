//! Pools that are restricted to pipelines and environments: checked when a definition is saved, when a stage
//! is about to be queued, and when its job is about to be assigned. Also: the digests of images that runners
//! report.

use greenroom_store::engine::Advance;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::caches::put;
use crate::fixture::{DeploymentFixture, RunnerInPool};
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
    restrict_pool(fixture, "default", body).await;
}

async fn restrict_pool(fixture: &DeploymentFixture, pool: &str, body: Value) {
    let (status, response) = fixture.call(Method::PATCH, &format!("/runner-pools/{pool}"), body).await;
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

/// `build` runs in a pool that everybody's jobs use, `ship` in one for production.
const TWO_POOLS: &str = r#"
environments: { production: {} }
stages:
  build:
    artifacts: [dist]
    caches: [{ key: deps, paths: [deps] }]
    steps: [{ image: a, run: "true" }]
  ship:
    needs: [build]
    environment: production
    runner: { pool: high }
    caches: [{ key: deps, paths: [deps] }]
    steps: [{ image: a, run: "true" }]
"#;

const INPUT_REFUSED: (&str, Option<&str>) = ("failed", Some("input_refused"));

/// Makes the pool of production, and a runner in it.
async fn with_two_pools(pool: &PgPool) -> (DeploymentFixture, RunnerInPool) {
    let fixture = DeploymentFixture::new(pool, TWO_POOLS).await;
    let high = fixture.runner_in("high").await;
    restrict_pool(
        &fixture,
        "high",
        json!({ "pipelines": [fixture.pipeline], "environments": ["production"] }),
    )
    .await;
    (fixture, high)
}

/// Runs `build`, which leaves something, or nothing.
async fn build(fixture: &DeploymentFixture, leaves: &str) -> (String, Advance) {
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let step = &job.steps[0];
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    if leaves == "an artifact" {
        let put = fixture.request_by(Method::PUT, &job, "/artifact").body("an archive");
        assert_eq!(put.send().await.unwrap().status(), 200);
    }
    let outputs = if leaves == "outputs" { json!({ "version": "forged" }) } else { json!({}) };
    let end = json!({ "status": "succeeded", "exitCode": 0, "outputs": outputs });
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/end"), end).await.0, 200);
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    let advance = fixture.advance(&id).await;
    (id, advance)
}

#[tokio::test]
async fn a_restricted_pool_takes_nothing_from_one_that_takes_more_jobs() {
    let (_database, pool) = TestDatabase::create().await;
    let (fixture, _) = with_two_pools(&pool).await;
    for leaves in ["an artifact", "outputs"] {
        let (id, _) = build(&fixture, leaves).await;
        let record = fixture.deployment(&id).await;
        assert_eq!(reasons(&record), [("succeeded", None), INPUT_REFUSED], "{leaves}");
        let detail = record["stages"][1]["detail"].as_str().unwrap();
        assert!(detail.contains(leaves) && detail.contains("acceptFrom: [build]"), "{detail}");
    }
    // That a stage has to come first is fine.
    let (id, advance) = build(&fixture, "nothing").await;
    assert_eq!(advance.dispatch.len(), 1, "{:?}", reasons(&fixture.deployment(&id).await));
    fixture.end().await;
}

#[tokio::test]
async fn what_a_pool_may_leave_is_checked_again_when_the_job_is_assigned() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, TWO_POOLS).await;
    let high = fixture.runner_in("high").await;
    let (id, advance) = build(&fixture, "an artifact").await;
    assert_eq!(advance.dispatch.len(), 1, "no pool is restricted yet");
    restrict_pool(&fixture, "high", json!({ "pipelines": [fixture.pipeline] })).await;
    assert!(fixture.try_take_by(&high, &advance).await.is_none());
    fixture.advance(&id).await;
    let record = fixture.deployment(&id).await;
    assert_eq!(reasons(&record)[1], INPUT_REFUSED);
    assert!(record["stages"][1]["detail"].as_str().unwrap().contains("the pool `default`"), "{record}");
    // Equally restricted, both are trusted as much.
    restrict(&fixture, json!({ "pipelines": [fixture.pipeline] })).await;
    let (_, advance) = build(&fixture, "an artifact").await;
    assert!(fixture.try_take_by(&high, &advance).await.is_some());
    fixture.end().await;
}

#[tokio::test]
async fn a_definition_can_accept_what_a_stage_leaves_and_is_warned_of_what_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let (fixture, high) = with_two_pools(&pool).await;
    let codes = |response: &Value| {
        let warnings = response.as_array().unwrap().iter();
        warnings.map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let validate = async |definition: &str| {
        let (_, response) =
            fixture.call(Method::POST, "/pipelines/validate", json!({ "definition": definition })).await;
        codes(&response["data"]["warnings"])
    };
    assert_eq!(validate(TWO_POOLS).await, ["input_refused"]);
    let accepting = TWO_POOLS.replace("needs: [build]", "needs: [build]\n    acceptFrom: [build]");
    assert_eq!(validate(&accepting).await, ["accepts_from_another_pool"]);
    let path = format!("/pipelines/{}", fixture.pipeline);
    let (status, saved) = fixture.call(Method::PUT, &path, json!({ "definition": accepting })).await;
    assert_eq!(status, 200, "{saved}");
    assert_eq!(codes(&saved["warnings"]), ["accepts_from_another_pool"]);
    let (id, advance) = build(&fixture, "an artifact").await;
    assert!(fixture.try_take_by(&high, &advance).await.is_some());
    let stages = &fixture.deployment(&id).await["stages"];
    let sha256 = &stages[1]["inputs"][0]["sha256"];
    let input = json!({ "kind": "artifact", "name": "build", "stage": "build", "pool": "default", "zone": null, "sha256": sha256 });
    assert_eq!((&stages[0]["inputs"], &stages[1]["inputs"]), (&json!([]), &json!([input])));
    fixture.end().await;
}

#[tokio::test]
async fn a_restricted_pool_finds_no_cache_of_one_that_takes_more_jobs() {
    let (_database, pool) = TestDatabase::create().await;
    let (fixture, high) = with_two_pools(&pool).await;
    let id = fixture.start().await;
    let low = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(put(&fixture, &low, "/caches/deps", "left by a low pool").await.0, 200);
    fixture.run_job(&low, 0).await;
    let ship = fixture.try_take_by(&high, &fixture.advance(&id).await).await.unwrap();
    let get = async |expected: u16| {
        let response = fixture.request_of(&high, Method::GET, &ship, "/caches/deps").send().await.unwrap();
        assert_eq!(response.status().as_u16(), expected);
    };
    get(404).await;
    // Equally restricted, it is found.
    restrict(&fixture, json!({ "pipelines": [fixture.pipeline], "environments": ["production"] })).await;
    get(200).await;
    let input = &fixture.deployment(&id).await["stages"][1]["inputs"][0];
    assert_eq!(
        (&input["kind"], &input["name"], &input["zone"]),
        (&json!("cache"), &json!("deps"), &json!("open"))
    );
    assert_eq!((&input["stage"], &input["pool"]), (&json!("build"), &json!("default")));
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
