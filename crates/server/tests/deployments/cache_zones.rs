//! Zones of caches: caches that unproven commits have written do not reach production.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::caches::{get, put};
use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;
use crate::support::eventually;

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

async fn new_fixture(pool: &PgPool) -> DeploymentFixture {
    let fixture = DeploymentFixture::new(pool, SHOP).await;
    sqlx::query("update pipelines set repository = 'https://git.test/shop'").execute(pool).await.unwrap();
    fixture
}

#[tokio::test]
async fn no_step_starts_before_the_branch_is_proven() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = new_fixture(&pool).await;
    let path = format!("/pipelines/{}/deployments", fixture.pipeline);
    let (_, made) =
        fixture.call(Method::POST, &path, json!({ "commitId": "0123abc", "branch": "main" })).await;
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    let job = fixture.take(&fixture.advance(&id).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    for report in [None, Some(None::<&str>)] {
        if let Some(branch) = report {
            prove(&fixture, &job, branch).await;
        }
        let (status, response) = fixture.report(&job, &start, json!({})).await;
        assert_eq!((status, response["code"].as_str()), (409, Some("invalid_state")), "{response}");
    }
    assert_eq!(fixture.deployment(&id).await["stages"][0]["steps"][0]["status"], "pending");
    prove(&fixture, &job, Some("main")).await;
    assert_eq!(fixture.report(&job, &start, json!({})).await.0, 200);
    fixture.end().await;
}

/// Starts a deployment of the whole pipeline, takes its first job, and reports this branch. Another one than the deployment
/// names is refused.
async fn pipeline_job(fixture: &DeploymentFixture, named: Option<&str>, reported: Option<&str>) -> Job {
    let path = format!("/pipelines/{}/deployments", fixture.pipeline);
    let (status, made) =
        fixture.call(Method::POST, &path, json!({ "commitId": "0123abc", "branch": named })).await;
    assert_eq!(status, 202, "{made}");
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    let job = fixture.take(&fixture.advance(&id).await).await;
    let expected = if reported.is_none() || reported == named { 200 } else { 422 };
    assert_eq!(report_branch(fixture, &job, reported).await, expected, "{named:?} {reported:?}");
    job
}

async fn report_branch(fixture: &DeploymentFixture, job: &Job, branch: Option<&str>) -> u16 {
    fixture.report(job, "/checkout", json!({ "commitId": COMMIT, "branch": branch })).await.0
}

async fn prove(fixture: &DeploymentFixture, job: &Job, branch: Option<&str>) {
    assert_eq!(report_branch(fixture, job, branch).await, 200);
}

async fn session_job(fixture: &DeploymentFixture) -> Job {
    let (_, deployment) = fixture.claim("qa-1", &fixture.owner, "force-claim").await;
    let job = fixture.take(&fixture.advance(&deployment).await).await;
    prove(fixture, &job, None).await;
    job
}

#[tokio::test]
async fn caches_of_an_ephemeral_environment_do_not_reach_production() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = new_fixture(&pool).await;
    let poisoner = session_job(&fixture).await;
    assert_eq!(put(&fixture, &poisoner, PATH, "poisoned").await.0, 200);

    // Both stages write a cache: the one without an environment and the one with it.
    let build = pipeline_job(&fixture, Some("main"), Some("main")).await;
    assert_eq!(get(&fixture, &build, PATH).await.0, 404);
    assert_eq!(put(&fixture, &build, PATH, "from main").await.0, 200);
    assert_eq!(get(&fixture, &build, PATH).await, (200, "from main".to_owned()));
    let (_, list) =
        fixture.call(Method::GET, &format!("/pipelines/{}/deployments", fixture.pipeline), Value::Null).await;
    let id = list["data"][0]["id"].as_str().unwrap().to_owned();
    fixture.run_job(&build, 0).await;
    let release = fixture.take(&fixture.advance(&id).await).await;
    prove(&fixture, &release, Some("main")).await;
    assert_eq!(get(&fixture, &release, PATH).await, (200, "from main".to_owned()));

    // Other zones can read the protected cache, and prefer it.
    assert_eq!(get(&fixture, &poisoner, PATH).await, (200, "from main".to_owned()));
    fixture.end().await;
}

/// What counts is where the deployment can deploy, and not which branch its starter names.
#[tokio::test]
async fn without_the_proof_of_a_branch_that_production_accepts_only_protected_caches_are_read() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = new_fixture(&pool).await;
    let poisoner = session_job(&fixture).await;
    assert_eq!(put(&fixture, &poisoner, PATH, "poisoned").await.0, 200);
    let deployments = [
        (None, None),
        (None, Some("main")),
        (Some("evil"), Some("evil")),
        (Some("evil"), Some("main")),
        (Some("main"), None),
        (Some("main"), Some("evil")),
    ];
    for (named, reported) in deployments {
        let job = pipeline_job(&fixture, named, reported).await;
        let (status, response) = put(&fixture, &job, PATH, "poisoned").await;
        assert_eq!((status, response["code"].as_str()), (409, Some("invalid_state")), "{response}");
        assert_eq!(get(&fixture, &job, PATH).await.0, 404, "{named:?} {reported:?}");
    }
    let job = pipeline_job(&fixture, Some("main"), Some("main")).await;
    assert_eq!(get(&fixture, &job, PATH).await.0, 404);
    assert_eq!(put(&fixture, &job, PATH, "from main").await.0, 200);
    for (named, reported) in deployments {
        let job = pipeline_job(&fixture, named, reported).await;
        assert_eq!(get(&fixture, &job, PATH).await, (200, "from main".to_owned()));
    }
    fixture.end().await;
}

#[tokio::test]
async fn without_a_repository_no_branch_is_proven() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let session = session_job(&fixture).await;
    assert_eq!(put(&fixture, &session, PATH, "of a session").await.0, 200);
    // Nothing was checked out, so a report of a branch is refused, also of the one that the deployment names.
    let job = pipeline_job(&fixture, Some("main"), None).await;
    assert_eq!(report_branch(&fixture, &job, Some("main")).await, 422);
    assert_eq!(get(&fixture, &job, PATH).await.0, 404, "a session's");
    assert_eq!(put(&fixture, &job, PATH, "unproven").await.0, 200);
    assert_eq!(get(&fixture, &session, PATH).await, (200, "unproven".to_owned()));
    let zones = "select zone from caches order by zone";
    let zones: Vec<String> = sqlx::query_scalar(zones).fetch_all(&pool).await.unwrap();
    assert_eq!(zones, ["open", "session"]);
    let (_, list) =
        fixture.call(Method::GET, &format!("/pipelines/{}/deployments", fixture.pipeline), Value::Null).await;
    let id = list["data"][0]["id"].as_str().unwrap().to_owned();
    fixture.run_job(&job, 0).await;
    fixture.advance(&id).await;
    assert_eq!(fixture.deployment(&id).await["stages"][1]["reason"], "branch_unknown");
    fixture.end().await;
}

#[tokio::test]
async fn maintainers_see_and_delete_caches() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = new_fixture(&pool).await;
    let protected = pipeline_job(&fixture, Some("main"), Some("main")).await;
    assert_eq!(put(&fixture, &protected, PATH, "from main").await.0, 200);
    let session = session_job(&fixture).await;
    // A runner would not upload here, because it finds the cache of `main`; other clients may.
    assert_eq!(put(&fixture, &session, PATH, "poisoned").await.0, 200);

    let path = format!("/pipelines/{}/caches", fixture.pipeline);
    let (status, list) = fixture.call(Method::GET, &path, Value::Null).await;
    assert_eq!(status, 200, "{list}");
    let zones: Vec<_> = list["data"].as_array().unwrap().iter().map(|cache| &cache["zone"]).collect();
    assert_eq!(zones, ["protected", "session"]);
    assert_eq!((&list["data"][0]["key"], &list["data"][1]["bytes"]), (&json!("deps"), &json!(8)));

    for (query, wrong) in [
        ("zone=all", "zone"),
        ("key=%00", "key"),
        ("name=x", "name"),
        ("", "all"),
        ("all=true&key=deps", "all"),
    ] {
        let (status, response) = fixture.call(Method::DELETE, &format!("{path}?{query}"), Value::Null).await;
        assert_eq!(status, 422, "{wrong}: {response}");
    }
    let (status, deleted) =
        fixture.call(Method::DELETE, &format!("{path}?key=deps&zone=session"), Value::Null).await;
    assert_eq!((status, deleted["data"].as_array().map(Vec::len)), (200, Some(1)), "{deleted}");
    assert_eq!(get(&fixture, &session, PATH).await, (200, "from main".to_owned()));
    let all = format!("{path}?all=true");
    let (status, would) = fixture.call(Method::DELETE, &format!("{all}&dryRun=true"), Value::Null).await;
    assert_eq!((status, would["data"].as_array().map(Vec::len)), (200, Some(1)), "{would}");
    let (status, deleted) = fixture.call(Method::DELETE, &all, Value::Null).await;
    assert_eq!((status, deleted["data"].as_array().map(Vec::len)), (200, Some(1)), "{deleted}");
    assert_eq!(get(&fixture, &session, PATH).await.0, 404);
    // An event is listed once it is sequenced.
    let recorded = eventually(Duration::from_secs(10), async || {
        let path = "/events?category=audit&type=cache.deleted";
        let (_, events) = fixture.call(Method::GET, path, Value::Null).await;
        events["data"].as_array().map(Vec::len) == Some(2)
    });
    assert!(recorded.await);
    fixture.end().await;
}
