//! Pools that are restricted to pipelines and environments: checked when a definition is saved, when a stage is about to be
//! queued, and when its job is about to be given to a runner. And the digests of images that runners report.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::yard::Yard;

const SHOP: &str = r#"
environments: { production: {} }
ephemeralEnvironments: { qa-1: { stages: [build] }, "pr-*": { max: 5, stages: [build] } }
stages:
  build: { steps: [{ image: a, run: "true" }] }
  release: { needs: [build], environment: production, steps: [{ image: a, run: "true" }] }
"#;

/// Restricts the pool in which everything runs.
async fn restrict(yard: &Yard, body: Value) {
    let (status, answer) = yard.call(Method::PATCH, "/runner-pools/default", body).await;
    assert_eq!(status, 200, "{answer}");
}

/// A pipeline of the same organization.
async fn another(yard: &Yard, slug: &str) -> String {
    let body = json!({ "name": slug, "slug": slug, "definition": SHOP });
    let (status, made) = yard.call(Method::POST, "/pipelines", body).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

fn reasons(shown: &Value) -> Vec<(&str, Option<&str>)> {
    let stages = shown["stages"].as_array().unwrap();
    stages.iter().map(|stage| (stage["status"].as_str().unwrap(), stage["reason"].as_str())).collect()
}

const REFUSED: (&str, Option<&str>) = ("failed", Some("pool_restricted"));

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stage_of_another_pipeline_is_not_queued(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let other = another(&yard, "other").await;
    restrict(&yard, json!({ "pipelines": [yard.pipeline] })).await;
    let id = yard.start_of(&other).await;
    let advance = yard.advance(&id).await;
    assert!(advance.ended && advance.dispatch.is_empty(), "{advance:?}");
    let shown = yard.deployment(&id).await;
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("failed"), &json!("pool_restricted")));
    assert_eq!(reasons(&shown), [REFUSED, ("skipped", Some("upstream_failed"))]);
    let detail = shown["stages"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("`default`") && detail.contains("admin"), "{detail}");
    assert_eq!(shown["stages"][0]["attempt"], 0, "no attempt was made");
    // The pipeline that it is for goes on as before, and so does the other one once an admin has added it.
    assert_eq!(yard.advance(&yard.start().await).await.dispatch.len(), 1);
    restrict(&yard, json!({ "pipelines": [yard.pipeline, other] })).await;
    let (status, retried) =
        yard.call(Method::POST, &format!("/deployments/{id}/stages/build/retry"), json!({})).await;
    assert_eq!(status, 202, "{retried}");
    assert_eq!(yard.advance(&id).await.dispatch.len(), 1);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_job_is_not_given_out_if_its_pool_was_restricted_meanwhile(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let other = another(&yard, "other").await;
    let (own_id, other_id) = (yard.start().await, yard.start_of(&other).await);
    let (own, waiting) = (yard.advance(&own_id).await, yard.advance(&other_id).await);
    assert_eq!(waiting.dispatch.len(), 1);
    restrict(&yard, json!({ "pipelines": [yard.pipeline] })).await;
    assert!(yard.try_take(&waiting).await.is_none());
    assert!(yard.try_take(&waiting).await.is_none(), "and not at a second poll either");
    assert!(yard.advance(&other_id).await.ended);
    let shown = yard.deployment(&other_id).await;
    assert_eq!(reasons(&shown)[0], REFUSED);
    assert_eq!(shown["stages"][0]["steps"][0]["status"], "skipped");
    assert!(yard.try_take(&own).await.is_some());
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_pool_for_an_environment_takes_only_what_deploys_there(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    restrict(&yard, json!({ "pipelines": [yard.pipeline], "environments": ["production"] })).await;
    // The first stage deploys nowhere.
    let id = yard.start().await;
    assert!(yard.advance(&id).await.ended);
    assert_eq!(reasons(&yard.deployment(&id).await)[0], REFUSED);
    // In a session a stage deploys to the session's environment, whatever it names.
    let (session, id) = yard.claim("qa-1", &yard.owner, "sessions").await;
    assert!(yard.advance(&id).await.ended);
    assert_eq!(reasons(&yard.deployment(&id).await), [REFUSED]);
    yard.release("qa-1", &yard.owner, &session).await;

    restrict(&yard, json!({ "environments": ["production", "none"] })).await;
    let id = yard.start().await;
    let advance = yard.pass(&id, 0).await;
    assert_eq!(advance.dispatch.len(), 1, "the release is queued");
    restrict(&yard, json!({ "environments": ["none"] })).await;
    assert!(yard.try_take(&advance).await.is_none());
    assert!(yard.advance(&id).await.ended);
    assert_eq!(reasons(&yard.deployment(&id).await), [("succeeded", None), REFUSED]);

    restrict(&yard, json!({ "environments": ["pr-*"] })).await;
    let (_, id) = yard.claim("pr-7", &yard.owner, "sessions").await;
    assert_eq!(yard.advance(&id).await.dispatch.len(), 1);
    restrict(&yard, json!({ "pipelines": null, "environments": null })).await;
    assert_eq!(yard.advance(&yard.start().await).await.dispatch.len(), 1);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_definition_that_names_a_pool_of_other_pipelines_is_not_saved(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let other = another(&yard, "other").await;
    let body = json!({ "name": "big-1", "pool": "big" });
    assert_eq!(yard.call(Method::POST, "/runners", body).await.0, 201);
    let pools = json!({ "pipelines": [yard.pipeline] });
    let (status, answer) = yard.call(Method::PATCH, "/runner-pools/big", pools).await;
    assert_eq!(status, 200, "{answer}");
    let definition = SHOP.replace("build: {", "build: { runner: { pool: big },");
    let update = json!({ "definition": definition });
    let path = format!("/pipelines/{other}");
    let (status, answer) = yard.call(Method::PUT, &path, update.clone()).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("invalid_definition")), "{answer}");
    assert_eq!(answer["errors"][0]["pointer"], "/definition");
    assert!(answer["detail"].as_str().unwrap().contains(&other), "{answer}");
    let create = json!({ "name": "New", "definition": definition });
    assert_eq!(yard.call(Method::POST, "/pipelines", create).await.0, 422);
    // Everything else of a pipeline can be changed, and those that are named may use the pool.
    assert_eq!(yard.call(Method::PUT, &path, json!({ "name": "Other one" })).await.0, 200);
    let (status, answer) = yard.call(Method::PUT, &format!("/pipelines/{}", yard.pipeline), update).await;
    assert_eq!(status, 200, "{answer}");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_steps_image_is_recorded_by_its_digest(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    let (digest, other) = (format!("sha256:{}", "0a".repeat(32)), format!("sha256:{}", "0b".repeat(32)));
    for wrong in ["", "latest", "sha256:0a", &digest.to_uppercase(), &format!("{digest}\u{0}")] {
        let (status, answer) = yard.say(&job, &start, json!({ "imageDigest": wrong })).await;
        assert_eq!(
            (status, answer["errors"][0]["pointer"].as_str()),
            (422, Some("/imageDigest")),
            "{answer}"
        );
    }
    let shown = async || yard.deployment(&id).await["stages"][0]["steps"][0]["imageDigest"].clone();
    assert_eq!(shown().await, Value::Null);
    // The first report stays: a request that is sent again is answered as before.
    for reported in [&digest, &digest, &other] {
        assert_eq!(yard.say(&job, &start, json!({ "imageDigest": reported })).await.0, 200);
    }
    assert_eq!(shown().await, json!(digest));
    let path = format!("/deployments/{id}/stages/build/attempts");
    let (_, attempts) = yard.call(Method::GET, &path, Value::Null).await;
    assert_eq!(attempts["data"][0]["steps"][0]["imageDigest"], json!(digest), "{attempts}");
    // Runners that report none are older, or use no containers.
    yard.carry_out(&job, 0).await;
    yard.end().await;
}
