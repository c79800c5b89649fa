//! Environments of templates, which are created by the first claim.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn environments_are_created_and_removed_and_keep_their_fence() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.get(&fixture.dev, "//pr-1").await.is(404);
    let first = fixture.send(&fixture.dev, Method::POST, "//pr-1/sessions", json!({})).await;
    assert_eq!(first.json["data"]["fence"], 1, "{}", first.json);
    assert_eq!(names(&fixture.get(&fixture.dev, "//").await.is(200)), ["pr-1", "qa-1"]);
    fixture.send(&fixture.dev, Method::POST, "//pr-2/sessions", json!({})).await.is(201);
    let full = fixture.send(&fixture.dev, Method::POST, "//pr-3/sessions", json!({})).await.is(409);
    assert_eq!(full["code"], "template_full");
    fixture.delete(&fixture.dev, &format!("//pr-1/sessions/{}", first.session())).await.is(200);
    assert_eq!(names(&fixture.get(&fixture.dev, "//").await.is(200)), ["pr-2", "qa-1"]);
    fixture.send(&fixture.dev, Method::POST, "//pr-3/sessions", json!({})).await.is(201);
    fixture.send(&fixture.dev, Method::POST, "//other-1/sessions", json!({})).await.is(404);
    fixture.send(&fixture.dev, Method::POST, "//pr-/sessions", json!({})).await.is(404);
    let mistyped = fixture.send(&fixture.dev, Method::POST, "//qa1/sessions", json!({})).await.is(404);
    let read = fixture.get(&fixture.dev, "//qa1").await.is(404);
    for refused in [mistyped, read] {
        assert_eq!(refused["suggestion"], "qa-1", "{refused}");
        assert!(refused["detail"].as_str().unwrap().contains("Did you mean `qa-1`?"), "{refused}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn environments_of_an_archived_pipeline_can_be_released_but_not_claimed() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    let path = format!("/organizations/acme/pipelines/{}", fixture.pipeline);
    let (status, _) = fixture.server.json(Method::DELETE, &path, &fixture.owner.token, None).await;
    assert_eq!(status, 200);
    assert_eq!(fixture.claim(&fixture.mate, json!({})).await.is(409)["code"], "pipeline_archived");
    fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    fixture.end().await;
}

fn names(list: &Value) -> Vec<String> {
    let names = list["data"].as_array().unwrap().iter();
    names.map(|environment| environment["envName"].as_str().unwrap().to_owned()).collect()
}
