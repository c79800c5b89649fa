//! Steps of registries are locked when a definition is saved, and run as they were locked.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;
use crate::support::eventually;
use crate::support::steps::{new_version, publish};

const PLAIN: &str = "stages: { ship: { steps: [{ image: a, run: b }] } }";
const LOCKED: &str = "stages:
  ship:
    steps:
      - uses: acme/roll-out@v1
        with: { replicas: 3 }
";

fn manifest(text: &str) -> String {
    let image = format!("tools@sha256:{}", "0".repeat(64));
    format!(
        "name: roll-out
description: {text}
inputs:
  replicas: {{ type: integer, required: true, minimum: 1 }}
  strategy: {{ type: string, enum: [rolling, recreate], default: rolling }}
image: {image}
run: ./run
"
    )
}

/// Returns a fixture with the registry `acme`, and the registry's id. It has the versions 1.0.0 of the step `roll-out`.
async fn with_registry(pool: &PgPool) -> (DeploymentFixture, String) {
    let fixture = DeploymentFixture::new(pool, PLAIN).await;
    let body = json!({ "name": "acme", "url": "https://git.example.com/acme/steps.git" });
    let (status, made) = fixture.call(Method::POST, "/step-registries", body).await;
    assert_eq!(status, 201, "{made}");
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    add_version(&fixture, pool, &id, "1.0.0").await;
    (fixture, id)
}

async fn add_version(fixture: &DeploymentFixture, pool: &PgPool, registry: &str, version: &str) {
    let version = new_version("roll-out", version, &manifest(version));
    publish(&fixture.server.server.app.store, pool, registry, vec![version]).await;
}

async fn save(fixture: &DeploymentFixture, definition: &str) -> (u16, Value) {
    fixture.call(Method::PUT, "/pipelines/shop", json!({ "definition": definition })).await
}

async fn version(fixture: &DeploymentFixture, version: i64) -> Value {
    let path = format!("/pipelines/shop/versions/{version}");
    let (status, found) = fixture.call(Method::GET, &path, Value::Null).await;
    assert_eq!(status, 200, "{found}");
    found["data"].clone()
}

async fn update_steps(fixture: &DeploymentFixture, query: &str) -> Value {
    let path = format!("/pipelines/shop/update-steps{query}");
    let (status, updated) = fixture.call(Method::POST, &path, Value::Null).await;
    assert_eq!(status, 200, "{updated}");
    updated["data"].clone()
}

#[tokio::test]
async fn a_definition_keeps_its_versions_until_its_steps_are_updated() {
    let (_database, pool) = TestDatabase::create().await;
    let (fixture, registry) = with_registry(&pool).await;
    let (status, saved) = save(&fixture, LOCKED).await;
    assert_eq!((status, &saved["data"]["definitionVersion"]), (200, &json!(2)), "{saved}");
    let second = version(&fixture, 2).await;
    assert_eq!(second["steps"][0]["version"], "1.0.0", "{second}");
    assert_eq!(second["steps"][0]["uses"], "acme/roll-out@v1");
    assert_eq!(second["steps"][0]["registryId"], json!(registry));

    add_version(&fixture, &pool, &registry, "1.1.0").await;
    let (_, saved) = save(&fixture, LOCKED).await;
    assert_eq!(saved["data"]["definitionVersion"], 2, "the same text is the same definition");
    let would = update_steps(&fixture, "?dryRun=true").await;
    assert_eq!(would["stepChanges"][0]["before"]["version"], "1.0.0", "{would}");
    assert_eq!(would["stepChanges"][0]["after"]["version"], "1.1.0", "{would}");
    assert_eq!(version(&fixture, 2).await, second);
    let updated = update_steps(&fixture, "").await;
    assert_eq!(updated["definitionVersion"], 3);
    assert_eq!(updated["stepChanges"], would["stepChanges"]);
    let third = version(&fixture, 3).await;
    assert_eq!(
        (&third["definition"], &third["steps"][0]["version"]),
        (&second["definition"], &json!("1.1.0"))
    );
    assert_ne!(third["digest"], second["digest"], "the lock is part of the digest");
    let again = update_steps(&fixture, "").await;
    assert_eq!((&again["definitionVersion"], &again["stepChanges"]), (&json!(3), &json!([])));

    let path = "/events?type=pipeline.updated&limit=1";
    let newest = async || fixture.call(Method::GET, path, Value::Null).await.1["data"][0]["data"].take();
    let is_there = async || newest().await["after"]["stepChanges"] == updated["stepChanges"];
    assert!(eventually(Duration::from_secs(5), is_there).await, "{}", newest().await);

    // Another text is resolved again.
    add_version(&fixture, &pool, &registry, "1.2.0").await;
    assert_eq!(save(&fixture, &format!("# changed\n{LOCKED}")).await.0, 200);
    assert_eq!(version(&fixture, 4).await["steps"][0]["version"], "1.2.0");
    fixture.end().await;
}

#[tokio::test]
async fn a_text_that_is_saved_already_stays_as_it_is_without_its_registry() {
    let (_database, pool) = TestDatabase::create().await;
    let (fixture, registry) = with_registry(&pool).await;
    assert_eq!(save(&fixture, LOCKED).await.0, 200);
    let (status, deleted) =
        fixture.call(Method::DELETE, &format!("/step-registries/{registry}"), Value::Null).await;
    assert_eq!(status, 200, "{deleted}");
    let (status, same) = save(&fixture, LOCKED).await;
    assert_eq!((status, &same["data"]["definitionVersion"]), (200, &json!(2)), "{same}");
    let other = LOCKED.replace("replicas: 3", "replicas: 4");
    assert_eq!(save(&fixture, &other).await.0, 422, "another text is resolved again");
    fixture.end().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_step_has_a_line_a_column_and_a_suggestion() {
    let (_database, pool) = TestDatabase::create().await;
    let (fixture, _) = with_registry(&pool).await;
    for (change, line, column, pointer, suggestion) in [
        (("acme/roll-out", "acme/rol-out"), 4, 15, "/stages/ship/steps/0/uses", json!("acme/roll-out@v1")),
        (("acme/", "acne/"), 4, 15, "/stages/ship/steps/0/uses", json!("acme/roll-out@v1")),
        (("@v1", "@v7"), 4, 15, "/stages/ship/steps/0/uses", json!("acme/roll-out@v1.0.0")),
        (("replicas:", "replica:"), 5, 17, "/stages/ship/steps/0/with/replica", json!("replicas")),
        (("3 }", "3, strategy: roling }"), 5, 40, "/stages/ship/steps/0/with/strategy", json!("rolling")),
        (("3 }", "0 }"), 5, 27, "/stages/ship/steps/0/with/replicas", Value::Null),
        (
            ("with:", "variables: { LD_PRELOAD: x.so }\n        with:"),
            5,
            22,
            "/stages/ship/steps/0/variables/LD_PRELOAD",
            Value::Null,
        ),
    ] {
        let definition = LOCKED.replace(change.0, change.1);
        let (status, refused) = save(&fixture, &definition).await;
        assert_eq!((status, &refused["code"]), (422, &json!("invalid_definition")), "{definition}{refused}");
        let error = &refused["errors"][0];
        assert_eq!(error["pointer"], pointer, "{error}");
        assert_eq!((&error["line"], &error["column"]), (&json!(line), &json!(column)), "{definition}{error}");
        assert_eq!(error["suggestion"], suggestion, "{error}");
        let body = json!({ "definition": definition });
        let (status, report) = fixture.call(Method::POST, "/pipelines/validate", body).await;
        assert_eq!((status, &report["data"]["valid"]), (200, &json!(false)));
        assert_eq!(report["data"]["errors"][0], *error);
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_step_that_is_refused_does_not_run() {
    let (_database, pool) = TestDatabase::create().await;
    let (fixture, registry) = with_registry(&pool).await;
    let definition = LOCKED.replace("      - uses", "      - { image: a, run: b }\n      - uses");
    assert_eq!(save(&fixture, &definition).await.0, 200);
    let locked = version(&fixture, 2).await["steps"][0]["digest"].clone();

    // What is locked runs, whatever becomes of its registry.
    let (status, _) =
        fixture.call(Method::DELETE, &format!("/step-registries/{registry}"), Value::Null).await;
    assert_eq!(status, 200);
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let attempts = format!("/deployments/{id}/stages/ship/attempts");
    let (_, attempts) = fixture.call(Method::GET, &attempts, Value::Null).await;
    let steps = attempts["data"][0]["steps"].as_array().unwrap();
    let digests: Vec<&Value> = steps.iter().map(|step| &step["stepDigest"]).collect();
    assert_eq!(digests, [&Value::Null, &locked]);

    let refused = "update step_versions set refused = true, yanked_at = clock_timestamp(), yanked_by = gen_random_uuid(),
                   yank_reason = 'steals tokens'";
    sqlx::query(refused).execute(&pool).await.unwrap();
    let start = format!("/steps/{}/start", job.steps[0]);
    let (status, gone) = fixture.report(&job, &start, json!({})).await;
    assert_eq!((status, &gone["code"]), (410, &json!("job_gone")), "{gone}");
    assert!(fixture.advance(&id).await.ended);
    let record = fixture.deployment(&id).await;
    assert_eq!(
        (&record["status"], &record["stages"][0]["reason"]),
        (&json!("failed"), &json!("step_refused")),
        "{record}"
    );
    assert!(record["stages"][0]["detail"].as_str().unwrap().contains("steals tokens"), "{record}");
    fixture.end().await;
}
