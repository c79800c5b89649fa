//! Caches: a pipeline's own, never changed, and no more of them than it may have.

use greenroom_server::app::removal;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::PgPool;

use crate::yard::{Job, Yard};

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

/// As the runner writes it: a key may have slashes, and is one part of the address all the same.
const PATH: &str = "/caches/cargo%2Fv1";

pub async fn put(yard: &Yard, job: &Job, path: &str, archive: &str) -> (u16, Value) {
    let sha256 = format!("{:x}", Sha256::digest(archive));
    let request = yard.request_by(Method::PUT, job, path).header("x-greenroom-sha256", sha256);
    let response = request.body(archive.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

pub async fn get(yard: &Yard, job: &Job, path: &str) -> (u16, String) {
    let response = yard.request_by(Method::GET, job, path).send().await.unwrap();
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

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_first_one_stays_and_is_its_pipelines_own(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let body = json!({ "name": "Other", "definition": DEFINITION });
    let (_, other) = yard.call(Method::POST, "/pipelines", body).await;
    let other = other["data"]["id"].as_str().unwrap().to_owned();

    let (first, second) = (yard.job_of(&yard.pipeline).await, yard.job_of(&yard.pipeline).await);
    assert_eq!(get(&yard, &first, PATH).await.0, 404);
    assert_eq!(put(&yard, &first, PATH, "what the first left").await.0, 200);
    assert_eq!(put(&yard, &second, PATH, "what the second left").await.0, 200, "no harm done");
    for job in [&first, &second, &yard.job_of(&yard.pipeline).await] {
        assert_eq!(get(&yard, job, PATH).await, (200, "what the first left".to_owned()));
    }
    let foreign = yard.job_of(&other).await;
    assert_eq!(get(&yard, &foreign, PATH).await.0, 404, "not even by the same key");
    assert_eq!(put(&yard, &foreign, PATH, "another pipeline's").await.0, 200);
    assert_eq!(get(&yard, &first, PATH).await.1, "what the first left");
    assert_eq!(get(&yard, &foreign, PATH).await.1, "another pipeline's");

    // What the second sent has gone from the object store at once; what is kept stays.
    let app = &yard.server.server.app;
    assert_eq!(count(&pool, "select count(*) from discarded_objects").await, 0);
    assert_eq!(app.objects.names().await.unwrap().len(), 2);
    assert_eq!(get(&yard, &first, PATH).await.0, 200);
    assert_eq!(get(&yard, &foreign, PATH).await.0, 200);

    assert_eq!(yard.call(Method::DELETE, &format!("/pipelines/{other}"), Value::Null).await.0, 200);
    assert_eq!(count(&pool, "select count(*) from caches").await, 1, "an archived pipeline keeps none");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn only_a_running_job_has_caches_and_only_whole_ones_are_kept(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let job = yard.job_of(&yard.pipeline).await;
    let request = yard.request_by(Method::PUT, &job, PATH).header("x-greenroom-sha256", "00");
    assert_eq!(request.body("torn").send().await.unwrap().status(), 422);
    assert_eq!(get(&yard, &job, PATH).await.0, 404, "what came damaged is not kept");
    for key in ["a%20b", "%2Fa", "another-stages", &"a".repeat(129)] {
        assert_eq!(put(&yard, &job, &format!("/caches/{key}"), "x").await.0, 422, "{key}");
    }
    yard.carry_out(&job, 0).await;
    let (status, answer) = put(&yard, &job, PATH, "late").await;
    assert_eq!((status, answer["code"].as_str()), (410, Some("job_gone")));
    assert_eq!(get(&yard, &job, PATH).await.0, 410);
    assert_eq!(count(&pool, "select count(*) from caches").await, 0);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn beyond_a_hundred_the_least_used_goes(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let job = yard.job_of(&yard.pipeline).await;
    assert_eq!(put(&yard, &job, "/caches/oldest", "used again").await.0, 200);
    assert_eq!(put(&yard, &job, "/caches/unused", "not used").await.0, 200);
    sqlx::query(
        "with old as (update caches set used_at = used_at - interval '1 day' returning *)
         insert into caches (organization_id, pipeline_id, key, bytes, sha256, object)
         select organization_id, pipeline_id, 'filler-' || number, 1, '', '-' from old, generate_series(1, 98) as number
         where key = 'oldest'",
    )
    .execute(&pool)
    .await
    .unwrap();
    assert_eq!(get(&yard, &job, "/caches/oldest").await.0, 200, "now it is the newest");
    assert_eq!(put(&yard, &job, "/caches/one-more", "the hundred and first").await.0, 200);
    assert_eq!(count(&pool, "select count(*) from caches").await, 100);
    assert_eq!(get(&yard, &job, "/caches/unused").await.0, 404);
    assert_eq!(get(&yard, &job, "/caches/oldest").await.0, 200);
    assert_eq!(get(&yard, &job, "/caches/one-more").await.0, 200);
    let due = "select count(*) from discarded_objects where due_at > clock_timestamp() + interval '1 hour'";
    assert_eq!(count(&pool, due).await, 1, "who reads it just now may go on");
    yard.end().await;
}

/// A server that dies in the middle of an upload leaves an object that nothing refers to, but not for ever.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_was_sent_in_vain_goes_in_the_end(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let app = &yard.server.server.app;
    let organization = yard.owner.organization.parse().unwrap();
    let name = "caches/left/behind";
    app.store.announce_object(organization, name).await.unwrap();
    app.objects.put(name, "half of it".into()).await.unwrap();
    removal::once(&app.store, &app.objects).await.unwrap();
    assert!(app.objects.get(name, 0..4).await.is_ok(), "an upload has its time");
    sqlx::query("update discarded_objects set due_at = clock_timestamp()").execute(&pool).await.unwrap();
    removal::once(&app.store, &app.objects).await.unwrap();
    assert!(app.objects.get(name, 0..4).await.is_err());
    assert_eq!(count(&pool, "select count(*) from discarded_objects").await, 0);
    yard.end().await;
}
