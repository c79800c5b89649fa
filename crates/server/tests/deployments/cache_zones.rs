//! Caches have the zone of their deployment: what anybody's commit has left does not get into production.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::caches::{get, put};
use crate::support::eventually;
use crate::yard::{Job, Yard};

/// The cache is in a stage without an environment, as in most pipelines.
const SHOP: &str = r#"
environments:
  production: { branches: [main] }
ephemeralEnvironments:
  qa-1: { stages: [build] }
stages:
  build:
    caches: [{ key: deps, paths: [deps] }]
    steps: [{ image: a, run: "true" }]
  release:
    needs: [build]
    environment: production
    if: branch == "main"
    caches: [{ key: deps, paths: [deps] }]
    steps: [{ image: a, run: "true" }]
"#;
const PATH: &str = "/caches/deps";
const COMMIT: &str = "0123abc000000000000000000000000000000000";

async fn yard(pool: &PgPool) -> Yard {
    let yard = Yard::new(pool, SHOP).await;
    sqlx::query("update pipelines set repository = 'https://git.test/shop'").execute(pool).await.unwrap();
    yard
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn no_step_starts_before_the_branch_is_proven(pool: PgPool) {
    let yard = yard(&pool).await;
    let path = format!("/pipelines/{}/deployments", yard.pipeline);
    let (_, made) = yard.call(Method::POST, &path, json!({ "commitId": "0123abc", "branch": "main" })).await;
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    let job = yard.take(&yard.advance(&id).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    for report in [None, Some(None::<&str>)] {
        if let Some(branch) = report {
            prove(&yard, &job, branch).await;
        }
        let (status, answer) = yard.say(&job, &start, json!({})).await;
        assert_eq!((status, answer["code"].as_str()), (409, Some("invalid_state")), "{answer}");
    }
    assert_eq!(yard.deployment(&id).await["stages"][0]["steps"][0]["status"], "pending");
    prove(&yard, &job, Some("main")).await;
    assert_eq!(yard.say(&job, &start, json!({})).await.0, 200);
    yard.end().await;
}

/// Starts a deployment of the whole pipeline and takes its first job, which has proven this branch.
async fn pipeline_job(yard: &Yard, named: Option<&str>, proven: Option<&str>) -> Job {
    let path = format!("/pipelines/{}/deployments", yard.pipeline);
    let (status, made) =
        yard.call(Method::POST, &path, json!({ "commitId": "0123abc", "branch": named })).await;
    assert_eq!(status, 202, "{made}");
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    let job = yard.take(&yard.advance(&id).await).await;
    prove(yard, &job, proven).await;
    job
}

async fn prove(yard: &Yard, job: &Job, branch: Option<&str>) {
    let body = json!({ "commitId": COMMIT, "branch": branch });
    assert_eq!(yard.say(job, "/checkout", body).await.0, 200);
}

async fn session_job(yard: &Yard) -> Job {
    let (_, deployment) = yard.claim("qa-1", &yard.owner, "force-claim").await;
    let job = yard.take(&yard.advance(&deployment).await).await;
    prove(yard, &job, None).await;
    job
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_an_ephemeral_environment_left_does_not_reach_production(pool: PgPool) {
    let yard = yard(&pool).await;
    let poisoner = session_job(&yard).await;
    assert_eq!(put(&yard, &poisoner, PATH, "poisoned").await.0, 200);

    // By the stage without an environment, and by the one with it.
    let build = pipeline_job(&yard, Some("main"), Some("main")).await;
    assert_eq!(get(&yard, &build, PATH).await.0, 404);
    assert_eq!(put(&yard, &build, PATH, "from main").await.0, 200);
    assert_eq!(get(&yard, &build, PATH).await, (200, "from main".to_owned()));
    let (_, listed) =
        yard.call(Method::GET, &format!("/pipelines/{}/deployments", yard.pipeline), Value::Null).await;
    let id = listed["data"][0]["id"].as_str().unwrap().to_owned();
    yard.carry_out(&build, 0).await;
    let release = yard.take(&yard.advance(&id).await).await;
    prove(&yard, &release, Some("main")).await;
    assert_eq!(get(&yard, &release, PATH).await, (200, "from main".to_owned()));

    // Others may use what main has left, and prefer it.
    assert_eq!(get(&yard, &poisoner, PATH).await, (200, "from main".to_owned()));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_branch_that_production_does_not_take_writes_no_protected_cache(pool: PgPool) {
    let yard = yard(&pool).await;
    for named in [None, Some("evil")] {
        let job = pipeline_job(&yard, named, named).await;
        assert_eq!(put(&yard, &job, PATH, "poisoned").await.0, 200);
    }
    // Named is not proven: it writes nothing, and reads only what is protected.
    for proven in [None, Some("evil")] {
        let claimed = pipeline_job(&yard, Some("main"), proven).await;
        let (status, answer) = put(&yard, &claimed, PATH, "poisoned").await;
        assert_eq!((status, answer["code"].as_str()), (409, Some("invalid_state")), "{answer}");
        assert_eq!(get(&yard, &claimed, PATH).await.0, 404);
    }
    let job = pipeline_job(&yard, Some("main"), Some("main")).await;
    assert_eq!(get(&yard, &job, PATH).await.0, 404);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn without_a_repository_no_branch_counts(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let job = pipeline_job(&yard, Some("main"), None).await;
    assert_eq!(put(&yard, &job, PATH, "anybody's").await.0, 200);
    let zones: Vec<String> = sqlx::query_scalar("select zone from caches").fetch_all(&pool).await.unwrap();
    assert_eq!(zones, ["open"]);
    let (_, listed) =
        yard.call(Method::GET, &format!("/pipelines/{}/deployments", yard.pipeline), Value::Null).await;
    let id = listed["data"][0]["id"].as_str().unwrap().to_owned();
    yard.carry_out(&job, 0).await;
    yard.advance(&id).await;
    assert_eq!(yard.deployment(&id).await["stages"][1]["reason"], "condition_false");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn maintainers_see_and_delete_caches(pool: PgPool) {
    let yard = yard(&pool).await;
    let protected = pipeline_job(&yard, Some("main"), Some("main")).await;
    assert_eq!(put(&yard, &protected, PATH, "from main").await.0, 200);
    let open = pipeline_job(&yard, None, None).await;
    // It finds main's, so a runner would not send one; a client may.
    assert_eq!(put(&yard, &open, PATH, "poisoned").await.0, 200);

    let path = format!("/pipelines/{}/caches", yard.pipeline);
    let (status, listed) = yard.call(Method::GET, &path, Value::Null).await;
    assert_eq!(status, 200, "{listed}");
    let zones: Vec<_> = listed["data"].as_array().unwrap().iter().map(|cache| &cache["zone"]).collect();
    assert_eq!(zones, ["open", "protected"]);
    assert_eq!((&listed["data"][0]["key"], &listed["data"][0]["bytes"]), (&json!("deps"), &json!(8)));

    for (query, wrong) in [("zone=all", "zone"), ("key=%00", "key"), ("name=x", "name")] {
        let (status, answer) = yard.call(Method::DELETE, &format!("{path}?{query}"), Value::Null).await;
        assert_eq!(status, 422, "{wrong}: {answer}");
    }
    let (status, deleted) =
        yard.call(Method::DELETE, &format!("{path}?key=deps&zone=open"), Value::Null).await;
    assert_eq!((status, deleted["data"].as_array().map(Vec::len)), (200, Some(1)), "{deleted}");
    assert_eq!(get(&yard, &open, PATH).await, (200, "from main".to_owned()));
    let (status, deleted) = yard.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!((status, deleted["data"].as_array().map(Vec::len)), (200, Some(1)), "{deleted}");
    assert_eq!(get(&yard, &open, PATH).await.0, 404);
    // An event is listed once the sequencer has numbered it.
    let recorded = eventually(Duration::from_secs(10), async || {
        let path = "/events?category=audit&type=cache.deleted";
        let (_, events) = yard.call(Method::GET, path, Value::Null).await;
        events["data"].as_array().map(Vec::len) == Some(2)
    });
    assert!(recorded.await);
    yard.end().await;
}
