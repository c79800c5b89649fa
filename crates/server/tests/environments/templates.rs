//! Environments that come into being when they are first claimed.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::Site;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn they_come_and_go_and_keep_their_fence(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.get(&site.dev, "//pr-1").await.is(404);
    let first = site.send(&site.dev, Method::POST, "//pr-1/sessions", json!({})).await;
    assert_eq!(first.json["data"]["fence"], 1, "{}", first.json);
    assert_eq!(names(&site.get(&site.dev, "//").await.is(200)), ["pr-1", "qa-1"]);
    site.send(&site.dev, Method::POST, "//pr-2/sessions", json!({})).await.is(201);
    let full = site.send(&site.dev, Method::POST, "//pr-3/sessions", json!({})).await.is(409);
    assert_eq!(full["code"], "template_full");
    site.delete(&site.dev, &format!("//pr-1/sessions/{}", first.session())).await.is(200);
    assert_eq!(names(&site.get(&site.dev, "//").await.is(200)), ["pr-2", "qa-1"]);
    site.send(&site.dev, Method::POST, "//pr-3/sessions", json!({})).await.is(201);
    site.send(&site.dev, Method::POST, "//other-1/sessions", json!({})).await.is(404);
    site.send(&site.dev, Method::POST, "//pr-/sessions", json!({})).await.is(404);
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_archived_pipeline_lets_go(pool: PgPool) {
    let site = Site::new(&pool).await;
    let session = site.claim(&site.dev, json!({})).await.session();
    let path = format!("/organizations/acme/pipelines/{}", site.pipeline);
    let (status, _) = site.server.json(Method::DELETE, &path, &site.owner.token, None).await;
    assert_eq!(status, 200);
    assert_eq!(site.claim(&site.mate, json!({})).await.is(409)["code"], "pipeline_archived");
    site.delete(&site.dev, &format!("/sessions/{session}")).await.is(200);
    site.end().await;
}

fn names(list: &Value) -> Vec<String> {
    let names = list["data"].as_array().unwrap().iter();
    names.map(|environment| environment["envName"].as_str().unwrap().to_owned()).collect()
}
