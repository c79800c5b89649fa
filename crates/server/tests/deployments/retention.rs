//! Logs and artifacts are removed after their retention, from the database and from the object store.

use greenroom_app::live::object_gc;
use greenroom_worker::housekeeping::{self, Retention};
use greenroom_worker::objects::{Objects, ObjectsError};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const DEFINITION: &str =
    "stages: { build: { artifacts: [out], steps: [{ image: a, run: b }, { image: a, run: b }] } }";
const RETENTION: Retention = Retention { events: 400, logs: 90 };

struct EndedDeployment {
    deployment: String,
    step: String,
}

/// Creates a deployment that has failed in its second step, with a log in the database, one in an object, and
/// an artifact.
async fn ended(fixture: &DeploymentFixture) -> EndedDeployment {
    let deployment = fixture.start().await;
    let job = fixture.take(&fixture.advance(&deployment).await).await;
    let mut status = "succeeded";
    for (step, length) in job.steps.iter().zip([300_000_u64, 10]) {
        assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
        let bytes = vec![b'x'; usize::try_from(length).unwrap()];
        assert_eq!(fixture.log(&job, step, 0, bytes).await.0, 200);
        let end = json!({ "status": status, "logBytes": length });
        assert_eq!(fixture.report(&job, &format!("/steps/{step}/end"), end).await.0, 200);
        status = "failed";
    }
    let artifact =
        fixture.request_by(Method::PUT, &job, "/artifact").body("an archive").send().await.unwrap();
    assert_eq!(artifact.status(), 200);
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    assert!(fixture.advance(&deployment).await.ended);
    EndedDeployment { deployment, step: job.steps[0].clone() }
}

async fn log(fixture: &DeploymentFixture, ended: &EndedDeployment, path: &str) -> (u16, String) {
    let path =
        format!("/organizations/acme/deployments/{}/steps/{}/logs{path}", ended.deployment, ended.step);
    let response = fixture.server.send(Method::GET, &path, Some(&fixture.owner.token), None).await;
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn names(pool: &PgPool, query: &'static str) -> Vec<String> {
    sqlx::query_scalar(query).fetch_all(pool).await.unwrap()
}

#[tokio::test]
async fn logs_and_artifacts_are_removed_after_their_retention() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let app = &fixture.server.server.app;
    let (old, young) = (ended(&fixture).await, ended(&fixture).await);
    let age =
        "update deployments set ended_at = ended_at - interval '90 days 1 minute' where 'dep_' || id = $1";
    sqlx::query(age).bind(&old.deployment).execute(&pool).await.unwrap();
    let objects = names(
        &pool,
        "select object from log_segments where object is not null union select object from artifacts",
    )
    .await;
    assert_eq!(objects.len(), 4, "{objects:?}");

    // Idempotent, and safe with several workers.
    for _ in 0..2 {
        let (one, other) = tokio::join!(
            housekeeping::run_once(&app.store, RETENTION),
            housekeeping::run_once(&app.store, RETENTION)
        );
        one.unwrap();
        other.unwrap();
    }
    for path in ["", "/stream", "/index", "?afterSeq=5", "?lines=1-2", "?tail=1", "/search?q=x"] {
        let (status, response) = log(&fixture, &old, path).await;
        let response: Value = serde_json::from_str(&response).unwrap();
        assert_eq!((status, response["code"].as_str()), (410, Some("log_expired")), "{path}");
        assert!(response["expiredAt"].is_string(), "{response}");
    }
    let record = fixture.deployment(&old.deployment).await;
    assert!(record["expiredAt"].is_string(), "{record}");
    assert_eq!(record["stages"][0]["steps"][0]["logBytes"], 300_000, "the length is kept");
    let (status, refused) = fixture
        .call(Method::POST, &format!("/deployments/{}/stages/build/retry", old.deployment), json!({}))
        .await;
    assert_eq!((status, refused["code"].as_str()), (409, Some("invalid_state")));
    assert_eq!(log(&fixture, &young, "").await.1.len(), 300_000);
    assert_eq!(fixture.deployment(&young.deployment).await["expiredAt"], Value::Null);

    // The objects are removed when no download can be reading them any more; the removal may be interrupted
    // anywhere.
    object_gc::run_once(&app.store, &app.objects).await.unwrap();
    let kept = names(
        &pool,
        "select object from log_segments where object is not null union select object from artifacts",
    )
    .await;
    let is_there = async |name: &String| app.objects.get(name, 0..1).await;
    for name in &objects {
        assert!(is_there(name).await.is_ok(), "{name} has its time");
    }
    sqlx::query("update discarded_objects set due_at = clock_timestamp()").execute(&pool).await.unwrap();
    let first_gone = objects.iter().find(|name| !kept.contains(name)).unwrap();
    app.objects.remove(first_gone).await.unwrap();
    object_gc::run_once(&app.store, &app.objects).await.unwrap();
    for name in &objects {
        match is_there(name).await {
            Ok(_) => assert!(kept.contains(name), "{name}"),
            Err(ObjectsError::Missing(_)) => assert!(!kept.contains(name), "{name}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
    assert!(names(&pool, "select name from discarded_objects").await.is_empty());
    fixture.end().await;
}

/// On a disk, an object whose name is that of a folder cannot be removed.
#[tokio::test]
async fn an_object_that_cannot_be_removed_does_not_delay_others() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (store, organization) = (&fixture.server.server.app.store, fixture.organization());
    let folder = std::env::temp_dir().join(format!("greenroom-objects-{}", uuid::Uuid::now_v7()));
    let objects =
        Objects::open(&format!("file://{}", folder.display()), std::iter::empty::<(String, String)>())
            .unwrap();
    for name in ["stuck/inside", "one", "two"] {
        objects.put(name, "x".into()).await.unwrap();
    }
    for name in ["stuck", "one", "two"] {
        store.register_object(organization, name).await.unwrap();
        store.discard_object(organization, name).await.unwrap();
    }
    assert!(object_gc::run_once(store, &objects).await.is_err());
    assert_eq!(names(&pool, "select name from discarded_objects").await, ["stuck"]);
    assert_eq!(objects.names().await.unwrap(), ["stuck/inside"]);
    std::fs::remove_dir_all(&folder).unwrap();
    fixture.end().await;
}
