//! Caches: they belong to a pipeline, are immutable, and are limited in number.

use greenroom_app::live::object_gc;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::PgPool;

use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;

const DEFINITION: &str = r#"
stages:
  build:
    caches:
      - { key: cargo/v1, paths: [target] }
      - { key: oldest, paths: [a] }
      - { key: unused, paths: [b] }
      - { key: one-more, paths: [c] }
    steps: [{ image: a, run: "true" }]
"#;

/// As the runner encodes it: a key with slashes is one path segment.
const PATH: &str = "/caches/cargo%2Fv1";

pub async fn put(fixture: &DeploymentFixture, job: &Job, path: &str, archive: &str) -> (u16, Value) {
    let sha256 = format!("{:x}", Sha256::digest(archive));
    let request = fixture.request_by(Method::PUT, job, path).header("x-greenroom-sha256", sha256);
    let response = request.body(archive.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

pub async fn get(fixture: &DeploymentFixture, job: &Job, path: &str) -> (u16, String) {
    let response = fixture.request_by(Method::GET, job, path).send().await.unwrap();
    let (status, announced) =
        (response.status().as_u16(), response.headers().get("x-greenroom-sha256").cloned());
    let body = response.text().await.unwrap();
    if status == 200 {
        assert_eq!(announced.unwrap(), format!("{:x}", Sha256::digest(&body)).as_str());
    }
    (status, body)
}

async fn count(pool: &PgPool, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn the_first_cache_of_a_key_is_kept_and_belongs_to_its_pipeline() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let body = json!({ "name": "Other", "definition": DEFINITION });
    let (_, other) = fixture.call(Method::POST, "/pipelines", body).await;
    let other = other["data"]["id"].as_str().unwrap().to_owned();

    let (first, second) = (fixture.job_of(&fixture.pipeline).await, fixture.job_of(&fixture.pipeline).await);
    assert_eq!(get(&fixture, &first, PATH).await.0, 404);
    assert_eq!(put(&fixture, &first, PATH, "what the first left").await.0, 200);
    assert_eq!(put(&fixture, &second, PATH, "what the second left").await.0, 200, "idempotent");
    for job in [&first, &second, &fixture.job_of(&fixture.pipeline).await] {
        assert_eq!(get(&fixture, job, PATH).await, (200, "what the first left".to_owned()));
    }
    let foreign = fixture.job_of(&other).await;
    assert_eq!(get(&fixture, &foreign, PATH).await.0, 404, "another pipeline, same key");
    assert_eq!(put(&fixture, &foreign, PATH, "another pipeline's").await.0, 200);
    assert_eq!(get(&fixture, &first, PATH).await.1, "what the first left");
    assert_eq!(get(&fixture, &foreign, PATH).await.1, "another pipeline's");

    // The object of the second upload is removed immediately; the stored one is kept.
    let app = &fixture.server.server.app;
    assert_eq!(count(&pool, "select count(*) from discarded_objects").await, 0);
    assert_eq!(app.objects.names().await.unwrap().len(), 2);
    assert_eq!(get(&fixture, &first, PATH).await.0, 200);
    assert_eq!(get(&fixture, &foreign, PATH).await.0, 200);

    assert_eq!(fixture.call(Method::DELETE, &format!("/pipelines/{other}"), Value::Null).await.0, 200);
    assert_eq!(count(&pool, "select count(*) from caches").await, 1, "an archived pipeline keeps none");
    fixture.end().await;
}

#[tokio::test]
async fn only_running_jobs_store_caches_and_only_complete_ones() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let job = fixture.job_of(&fixture.pipeline).await;
    let request = fixture.request_by(Method::PUT, &job, PATH).header("x-greenroom-sha256", "00");
    assert_eq!(request.body("torn").send().await.unwrap().status(), 422);
    assert_eq!(get(&fixture, &job, PATH).await.0, 404, "a damaged upload is not stored");
    for key in ["a%20b", "%2Fa", "another-stages", &"a".repeat(129)] {
        assert_eq!(put(&fixture, &job, &format!("/caches/{key}"), "x").await.0, 422, "{key}");
    }
    fixture.run_job(&job, 0).await;
    let (status, response) = put(&fixture, &job, PATH, "late").await;
    assert_eq!((status, response["code"].as_str()), (410, Some("job_gone")));
    assert_eq!(get(&fixture, &job, PATH).await.0, 410);
    assert_eq!(count(&pool, "select count(*) from caches").await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn the_least_recently_used_cache_is_removed_beyond_a_hundred() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let job = fixture.job_of(&fixture.pipeline).await;
    assert_eq!(put(&fixture, &job, "/caches/oldest", "used again").await.0, 200);
    assert_eq!(put(&fixture, &job, "/caches/unused", "not used").await.0, 200);
    sqlx::query(
        "with old as (update caches set used_at = used_at - interval '1 day' returning *)
         insert into caches (organization_id, pipeline_id, key, bytes, sha256, object)
         select organization_id, pipeline_id, 'filler-' || number, 1, '', '-' from old, generate_series(1, 98) as number
         where key = 'oldest'",
    )
    .execute(&pool)
    .await
    .unwrap();
    assert_eq!(get(&fixture, &job, "/caches/oldest").await.0, 200, "now it is the newest");
    assert_eq!(put(&fixture, &job, "/caches/one-more", "the hundred and first").await.0, 200);
    assert_eq!(count(&pool, "select count(*) from caches").await, 100);
    assert_eq!(get(&fixture, &job, "/caches/unused").await.0, 404);
    assert_eq!(get(&fixture, &job, "/caches/oldest").await.0, 200);
    assert_eq!(get(&fixture, &job, "/caches/one-more").await.0, 200);
    let due = "select count(*) from discarded_objects where due_at > clock_timestamp() + interval '1 hour'";
    assert_eq!(count(&pool, due).await, 1, "a concurrent download can finish");
    fixture.end().await;
}

/// A server that dies during an upload leaves an unreferenced object, which is removed later.
#[tokio::test]
async fn objects_of_interrupted_uploads_are_removed() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let app = &fixture.server.server.app;
    let organization = fixture.owner.organization.parse().unwrap();
    let name = "caches/left/behind";
    app.store.register_object(organization, name).await.unwrap();
    app.objects.put(name, "half of it".into()).await.unwrap();
    object_gc::run_once(&app.store, &app.objects).await.unwrap();
    assert!(app.objects.get(name, 0..4).await.is_ok(), "an upload has time to finish");
    sqlx::query("update discarded_objects set due_at = clock_timestamp()").execute(&pool).await.unwrap();
    object_gc::run_once(&app.store, &app.objects).await.unwrap();
    assert!(app.objects.get(name, 0..4).await.is_err());
    assert_eq!(count(&pool, "select count(*) from discarded_objects").await, 0);
    fixture.end().await;
}
