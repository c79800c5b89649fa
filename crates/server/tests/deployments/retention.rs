//! Logs and artifacts go when their time is over, from the database and from the object store.

use greenroom_server::app::failure::Code;
use greenroom_server::app::objects::Objects;
use greenroom_server::app::removal;
use greenroom_worker::housekeeping::{self, Retention};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::yard::Yard;

const DEFINITION: &str =
    "stages: { build: { artifacts: [out], steps: [{ image: a, run: b }, { image: a, run: b }] } }";
const RETENTION: Retention = Retention { events: 400, logs: 90 };

struct Left {
    deployment: String,
    step: String,
}

/// A deployment that has failed in its second step, with a log in the database, one in an object, and an artifact.
async fn left(yard: &Yard) -> Left {
    let deployment = yard.start().await;
    let job = yard.take(&yard.advance(&deployment).await).await;
    let mut status = "succeeded";
    for (step, length) in job.steps.iter().zip([300_000_u64, 10]) {
        assert_eq!(yard.say(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
        let bytes = vec![b'x'; usize::try_from(length).unwrap()];
        assert_eq!(yard.log(&job, step, 0, bytes).await.0, 200);
        let end = json!({ "status": status, "logBytes": length });
        assert_eq!(yard.say(&job, &format!("/steps/{step}/end"), end).await.0, 200);
        status = "failed";
    }
    let artifact = yard.request_by(Method::PUT, &job, "/artifact").body("an archive").send().await.unwrap();
    assert_eq!(artifact.status(), 200);
    assert_eq!(yard.say(&job, "/complete", json!({})).await.0, 200);
    assert!(yard.advance(&deployment).await.ended);
    Left { deployment, step: job.steps[0].clone() }
}

async fn log(yard: &Yard, left: &Left, path: &str) -> (u16, String) {
    let path = format!("/organizations/acme/deployments/{}/steps/{}/logs{path}", left.deployment, left.step);
    let response = yard.server.send(Method::GET, &path, Some(&yard.owner.token), None).await;
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn names(pool: &PgPool, query: &'static str) -> Vec<String> {
    sqlx::query_scalar(query).fetch_all(pool).await.unwrap()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_is_too_old_goes_and_the_rest_stays(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let app = &yard.server.server.app;
    let (old, young) = (left(&yard).await, left(&yard).await);
    let age =
        "update deployments set ended_at = ended_at - interval '90 days 1 minute' where 'dep_' || id = $1";
    sqlx::query(age).bind(&old.deployment).execute(&pool).await.unwrap();
    let objects = names(
        &pool,
        "select object from log_segments where object is not null union select object from artifacts",
    )
    .await;
    assert_eq!(objects.len(), 4, "{objects:?}");

    // Any number of times, by any number of workers.
    for _ in 0..2 {
        let (one, other) = tokio::join!(
            housekeeping::once(&app.store, RETENTION),
            housekeeping::once(&app.store, RETENTION)
        );
        one.unwrap();
        other.unwrap();
    }
    for path in ["", "/stream", "?afterSeq=5"] {
        let (status, answer) = log(&yard, &old, path).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((status, answer["code"].as_str()), (410, Some("log_expired")), "{path}");
        assert!(answer["expiredAt"].is_string(), "{answer}");
    }
    let shown = yard.deployment(&old.deployment).await;
    assert!(shown["expiredAt"].is_string(), "{shown}");
    assert_eq!(shown["stages"][0]["steps"][0]["logBytes"], 300_000, "what it was stays known");
    let (status, refused) = yard
        .call(Method::POST, &format!("/deployments/{}/stages/build/retry", old.deployment), json!({}))
        .await;
    assert_eq!((status, refused["code"].as_str()), (409, Some("invalid_state")));
    assert_eq!(log(&yard, &young, "").await.1.len(), 300_000);
    assert_eq!(yard.deployment(&young.deployment).await["expiredAt"], Value::Null);

    // The objects follow, when nobody can be reading them any more; removing them may be broken off anywhere.
    removal::once(&app.store, &app.objects).await.unwrap();
    let kept = names(
        &pool,
        "select object from log_segments where object is not null union select object from artifacts",
    )
    .await;
    let is_there = async |name: &String| app.objects.get(name, 0..1).await.map_err(|failure| failure.code);
    for name in &objects {
        assert!(is_there(name).await.is_ok(), "{name} has its time");
    }
    sqlx::query("update discarded_objects set due_at = clock_timestamp()").execute(&pool).await.unwrap();
    let first_gone = objects.iter().find(|name| !kept.contains(name)).unwrap();
    app.objects.remove(first_gone).await.unwrap();
    removal::once(&app.store, &app.objects).await.unwrap();
    for name in &objects {
        let expected = if kept.contains(name) { None } else { Some(Code::ObjectMissing) };
        assert_eq!(is_there(name).await.err(), expected, "{name}");
    }
    assert!(names(&pool, "select name from discarded_objects").await.is_empty());
    yard.end().await;
}

/// On a disk, a name that is a folder's can't be removed as an object.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn one_that_cannot_be_removed_does_not_put_off_the_others(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let (store, organization) = (&yard.server.server.app.store, yard.organization());
    let folder = std::env::temp_dir().join(format!("greenroom-objects-{}", uuid::Uuid::now_v7()));
    let objects =
        Objects::open(&format!("file://{}", folder.display()), std::iter::empty::<(String, String)>())
            .unwrap();
    for name in ["stuck/inside", "one", "two"] {
        objects.put(name, "x".into()).await.unwrap();
    }
    for name in ["stuck", "one", "two"] {
        store.announce_object(organization, name).await.unwrap();
        store.forget_object(organization, name).await.unwrap();
    }
    assert!(removal::once(store, &objects).await.is_err());
    assert_eq!(names(&pool, "select name from discarded_objects").await, ["stuck"]);
    assert_eq!(objects.names().await.unwrap(), ["stuck/inside"]);
    std::fs::remove_dir_all(&folder).unwrap();
    yard.end().await;
}
