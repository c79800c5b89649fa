//! Freezes: their records and events, and which of them hold in an environment.

use std::time::Duration;

use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_store::freeze::ActiveFreeze;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::requests::{header, new_pipeline, problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

/// A pipeline with two lasting environments, which a freeze can name.
const LASTING: &str = "environments: { staging: {}, production: {} }
ephemeralEnvironments: { qa-1: { stages: [build] } }
stages: { build: { steps: [{ image: busybox, run: 'true' }] } }
";

async fn lasting(server: &TestServer, owner: &Caller, name: &str) -> Value {
    server.post(owner, "/pipelines", json!({ "name": name, "definition": LASTING })).await
}

async fn send(server: &TestServer, by: &Caller, method: Method, path: &str, body: &Value) -> Response {
    server.request(by, method, path).json(body).send().await.unwrap()
}

fn weekends() -> Value {
    json!({
        "name": "Weekends",
        "reason": "Nobody is on call",
        "environments": ["staging", "production", "staging"],
        "weekly": [{ "from": "fri 16:00", "to": "mon 08:00" }],
        "zone": "europe/berlin",
    })
}

/// A freeze between two instants.
fn once(name: &str, from: &str, to: &str) -> Value {
    json!({ "name": name, "reason": "Because", "from": from, "to": to })
}

/// Active during all tests.
fn active(name: &str) -> Value {
    once(name, "2020-01-01T00:00:00Z", "2190-01-01T00:00:00Z")
}

fn id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_freeze_is_created_changed_and_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    lasting(&server, &owner, "Shop").await;

    let created = send(&server, &owner, Method::POST, "/freezes", &weekends()).await;
    assert!(header(&created, "etag").starts_with("\"1."), "{}", header(&created, "etag"));
    let created = success(created, 201).await["data"].take();
    assert_eq!(created["environments"], json!(["production", "staging"]));
    assert_eq!((&created["zone"], &created["pipelines"]), (&json!("Europe/Berlin"), &json!([])));
    assert_eq!(
        (&created["from"], &created["to"], &created["endedAt"]),
        (&json!(null), &json!(null), &json!(null))
    );
    let (is_active, until) = (created["active"].as_bool().unwrap(), created["until"].as_str());
    assert_eq!(is_active, until.is_some());
    assert!(created["nextFrom"].as_str().unwrap() < created["nextUntil"].as_str().unwrap());

    let path = format!("/freezes/{}", id(&created));
    let patch = async |condition: &str, body: Value| {
        let request = server.request(&owner, Method::PATCH, &path).header("If-Match", condition);
        request.json(&body).send().await.unwrap()
    };
    let later = json!({ "weekly": [{ "from": "fri 18:00", "to": "mon 08:00" }], "reason": "Quiet" });
    let changed = success(patch("\"1\"", later.clone()).await, 200).await["data"].take();
    assert_eq!((&changed["weekly"], &changed["reason"]), (&later["weekly"], &later["reason"]));
    assert_eq!(changed["environments"], created["environments"]);
    problem(patch("\"1\"", json!({ "name": "Late" })).await, 412, "precondition_failed").await;
    // A request without a change makes no revision.
    let same = patch("\"2\"", later).await;
    assert!(header(&same, "etag").starts_with("\"2."));
    // From weekly to once.
    let once =
        json!({ "weekly": [], "zone": null, "from": "2020-01-01T00:00:00Z", "to": "2190-01-01T00:00:00Z" });
    let changed = success(patch("*", once).await, 200).await["data"].take();
    assert_eq!((&changed["active"], &changed["until"]), (&json!(true), &json!("2190-01-01T00:00:00Z")));
    assert_eq!((&changed["nextFrom"], &changed["zone"]), (&json!(null), &json!(null)));
    assert_eq!(server.get(&owner, &path).await["data"], changed);
    assert_eq!(server.get(&owner, "/freezes").await["data"], json!([changed]));

    let ended =
        success(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 200).await["data"].take();
    assert_eq!((&ended["active"], &ended["until"]), (&json!(false), &json!(null)));
    assert!(ended["endedAt"].is_string());
    let again =
        success(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 200).await["data"].take();
    assert_eq!(again, ended);
    assert_eq!(server.get(&owner, &path).await["data"], ended);
    assert_eq!(server.get(&owner, "/freezes").await["data"], json!([]));
    problem(patch("*", json!({ "name": "Late" })).await, 409, "invalid_state").await;

    let events = server.events(&pool, &owner).await;
    let events: Vec<_> = events.iter().filter(|event| event["subject"] == path[1..]).collect();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["freeze.created", "freeze.updated", "freeze.updated", "freeze.ended"]);
    assert!(events.iter().all(|event| event["category"] == "deployment"), "{events:?}");
    assert_eq!(events[0]["data"]["after"]["name"], "Weekends");
    assert_eq!(events[1]["data"]["before"]["weekly"][0]["from"], "fri 16:00");
    assert_eq!(events[1]["data"]["after"]["weekly"][0]["from"], "fri 18:00");
    assert_eq!(events[3]["data"]["after"]["endedAt"], ended["endedAt"]);
    server.end().await;
}

#[tokio::test]
async fn the_same_key_creates_one_freeze() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let create = || {
        let request = server.request(&owner, Method::POST, "/freezes").header("Idempotency-Key", "freeze-1");
        request.json(&active("Holidays")).send()
    };
    let first = success(create().await.unwrap(), 201).await;
    let second = success(create().await.unwrap(), 201).await;
    assert_eq!(first, second);
    assert_eq!(server.get(&owner, "/freezes").await["data"].as_array().unwrap().len(), 1);
    server.end().await;
}

#[tokio::test]
async fn mistakes_are_named_with_their_field() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    lasting(&server, &owner, "Shop").await;
    let unknown = "pip_0190a0b0-0000-7000-8000-000000000001";
    let with = |changes: Value| {
        let mut body = weekends();
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        body
    };
    for (changes, pointer) in [
        (json!({ "name": "" }), "/name"),
        (json!({ "reason": " " }), "/reason"),
        (json!({ "pipelines": ["shop"] }), "/pipelines/0"),
        (json!({ "pipelines": [unknown] }), "/pipelines"),
        (json!({ "environments": ["pr-*"] }), "/environments"),
        (json!({ "zone": "Europe/Berln" }), "/zone"),
        (json!({ "zone": null }), "/zone"),
        (json!({ "weekly": [] }), "/weekly"),
        (json!({ "weekly": [{ "from": "fri 16:00", "to": "fri 16:00" }] }), "/weekly/0/to"),
        (json!({ "weekly": [{ "from": "Friday", "to": "mon 08:00" }] }), "/weekly/0/from"),
        (json!({ "from": "2026-01-01T00:00:00Z" }), "/from"),
        (json!({ "weekly": [], "zone": null }), "/from"),
        (json!({ "weekly": [], "zone": null, "from": "2026-01-02T00:00:00Z" }), "/to"),
        (
            json!({ "weekly": [], "zone": null, "from": "-009999-01-02T01:59:59Z", "to": "9999-12-30T22:00:00Z" }),
            "/from",
        ),
    ] {
        let refused = send(&server, &owner, Method::POST, "/freezes", &with(changes)).await;
        wrong_field(refused, pointer).await;
    }
    let whole =
        json!([{ "from": "mon 00:00", "to": "sun 00:00" }, { "from": "sat 00:00", "to": "mon 00:00" }]);
    let refused = send(&server, &owner, Method::POST, "/freezes", &with(json!({ "weekly": whole }))).await;
    wrong_field(refused, "/weekly").await;
    let created = server.post(&owner, "/freezes", weekends()).await;
    let path = format!("/freezes/{}", id(&created));
    let refused = send(&server, &owner, Method::PATCH, &path, &json!({ "zone": null })).await;
    wrong_field(refused, "/zone").await;
    server.end().await;
}

async fn ids(server: &TestServer, owner: &Caller, pipeline: &str) -> (OrganizationId, PipelineId) {
    let organization = server.get(owner, "").await["data"]["id"].as_str().unwrap().parse().unwrap();
    let created = lasting(server, owner, pipeline).await;
    (organization, id(&created).parse().unwrap())
}

/// Returns the names of the freezes that hold in `production` and `staging` of a pipeline, and when they end.
async fn frozen(
    server: &TestServer,
    organization: OrganizationId,
    pipeline: PipelineId,
) -> [Option<String>; 2] {
    let mut transaction = server.server.app.store.system_transaction(organization).await.unwrap();
    let now = transaction.now().await.unwrap();
    let environments = ["production", "staging"].map(str::to_owned);
    let found = transaction.freeze_of(pipeline, &environments, now).await.unwrap();
    transaction.commit().await.unwrap();
    let text = |freeze: &ActiveFreeze| format!("{} {}", freeze.name, &freeze.until.to_string()[..4]);
    environments.map(|environment| found.get(&environment).map(text))
}

#[tokio::test]
async fn the_freeze_that_ends_last_holds() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (owner, other) = (server.organization("acme").await, server.organization("globex").await);
    let (organization, shop) = ids(&server, &owner, "Shop").await;
    let (_, blog) = ids(&server, &owner, "Blog").await;
    assert_eq!(frozen(&server, organization, shop).await, [None, None]);

    // None of these holds.
    server.post(&other, "/freezes", active("Of another organization")).await;
    server.post(&owner, "/freezes", once("Past", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z")).await;
    server.post(&owner, "/freezes", once("Future", "2150-01-01T00:00:00Z", "2151-01-01T00:00:00Z")).await;
    assert_eq!(frozen(&server, organization, shop).await, [None, None]);

    let mut short = once("Short", "2020-01-01T00:00:00Z", "2170-01-01T00:00:00Z");
    short["pipelines"] = json!([shop.to_string()]);
    let short = server.post(&owner, "/freezes", short).await;
    let mut long = once("Long", "2020-01-01T00:00:00Z", "2180-01-01T00:00:00Z");
    long["environments"] = json!(["production"]);
    let long = server.post(&owner, "/freezes", long).await;
    let [short_text, long_text] = ["Short 2170", "Long 2180"].map(|text| Some(text.to_owned()));
    assert_eq!(frozen(&server, organization, shop).await, [long_text.clone(), short_text.clone()]);
    assert_eq!(frozen(&server, organization, blog).await, [long_text, None]);

    success(send(&server, &owner, Method::DELETE, &format!("/freezes/{}", id(&long)), &json!({})).await, 200)
        .await;
    assert_eq!(frozen(&server, organization, shop).await, [short_text.clone(), short_text]);
    let changes = json!({ "environments": ["staging"], "to": "2171-01-01T00:00:00Z" });
    success(send(&server, &owner, Method::PATCH, &format!("/freezes/{}", id(&short)), &changes).await, 200)
        .await;
    assert_eq!(frozen(&server, organization, shop).await, [None, Some("Short 2171".to_owned())]);

    // All days but one minute: weekly windows are decided by the clock of the database.
    let mut weekly = weekends();
    weekly["weekly"] = json!([{ "from": "mon 00:01", "to": "mon 00:00" }]);
    server.post(&owner, "/freezes", weekly).await;
    assert!(
        frozen(&server, organization, blog).await[0]
            .as_ref()
            .is_some_and(|text| text.starts_with("Weekends"))
    );
    server.end().await;
}

/// A transaction that has found no freeze may let a stage begin. A freeze is created after it, not besides it.
#[tokio::test]
async fn a_freeze_waits_for_stages_that_are_being_decided() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let (organization, shop) = ids(&server, &owner, "Shop").await;
    let mut transaction = server.server.app.store.system_transaction(organization).await.unwrap();
    let now = transaction.now().await.unwrap();
    let environments = ["production".to_owned()];
    assert!(transaction.freeze_of(shop, &environments, now).await.unwrap().is_empty());

    let mut creation = Box::pin(server.post(&owner, "/freezes", active("Holidays")));
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut creation).await.is_err());
    assert!(transaction.freeze_of(shop, &environments, now).await.unwrap().is_empty());
    transaction.commit().await.unwrap();
    creation.await;
    assert_eq!(frozen(&server, organization, shop).await[0].as_deref(), Some("Holidays 2190"));
    server.end().await;
}

/// Adds a stage to a deployment, as if it had been planned.
async fn add_waiting_stage(pool: &PgPool, deployment: &str, environment: Option<&str>) {
    let insert = "insert into stages (organization_id, deployment_id, key, position, name, needs, pool, status, gated,
                      timeout_seconds, attempts, backoff_seconds, environment)
                  select organization_id, id, 'release', 9, 'release', '{}', 'default', 'waiting', false, 60, 1, 0, $2
                  from deployments where 'dep_' || id = $1";
    let done = sqlx::query(insert).bind(deployment).bind(environment).execute(pool).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
}

#[tokio::test]
async fn every_change_wakes_up_deployments_before_environments() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    ids(&server, &owner, "Shop").await;
    let deploy = async || {
        let made = server.post(&owner, "/pipelines/shop/deployments", json!({ "commitId": "0123abc" })).await;
        id(&made)
    };
    let (waiting, without) = (deploy().await, deploy().await);
    add_waiting_stage(&pool, &waiting, Some("production")).await;
    add_waiting_stage(&pool, &without, None).await;
    let woken = async || {
        let wakes = "delete from wakes returning 'dep_' || deployment_id";
        sqlx::query_scalar::<_, String>(wakes).fetch_all(&pool).await.unwrap()
    };
    woken().await;
    let freeze = id(&server.post(&owner, "/freezes", active("Holidays")).await);
    assert_eq!(woken().await, [waiting.as_str()]);
    let path = format!("/freezes/{freeze}");
    for (method, body) in
        [(Method::PATCH, json!({ "environments": ["staging"] })), (Method::DELETE, json!({}))]
    {
        success(send(&server, &owner, method, &path, &body).await, 200).await;
        assert_eq!(woken().await, [waiting.as_str()]);
    }
    // What changes nothing wakes up nothing.
    success(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 200).await;
    assert!(woken().await.is_empty());
    server.end().await;
}

/// A freeze of a mistyped environment would be active and stop no deployment.
#[tokio::test]
async fn an_environment_that_does_not_exist_is_refused_with_a_suggestion() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let other = server.organization("globex").await;
    let plain = id(&server.post(&owner, "/pipelines", new_pipeline("Plain")).await);
    let naming = |environments: Value, pipelines: Value| {
        let mut body = active("Holidays");
        body["environments"] = environments;
        body["pipelines"] = pipelines;
        body
    };
    let refused = async |body: Value| {
        let response = send(&server, &owner, Method::POST, "/freezes", &body).await;
        wrong_field(response, "/environments").await["errors"][0].take()
    };
    // There is none at all; those of another organization don't count.
    lasting(&server, &other, "Shop").await;
    let none = refused(naming(json!(["production"]), json!([]))).await;
    assert!(none["detail"].as_str().unwrap().contains("add it to the definition"), "{none}");
    let shop = id(&lasting(&server, &owner, "Shop").await);
    for (named, suggestion) in [("prodution", json!("production")), ("qa-1", json!(null)), ("x", json!(null))]
    {
        let error = refused(naming(json!(["staging", named]), json!([]))).await;
        assert!(error["detail"].as_str().unwrap().contains(&format!("`{named}`")), "{error}");
        assert_eq!(
            (&error["suggestion"], &error["expected"]),
            (&suggestion, &json!(["production", "staging"]))
        );
    }
    // It has to be one of the pipelines that the freeze covers.
    refused(naming(json!(["production"]), json!([plain]))).await;
    let created = server.post(&owner, "/freezes", naming(json!(["production"]), json!([plain, shop]))).await;

    // What the freeze named before stays, also when it was removed from the definition.
    let without = json!({ "definition": new_pipeline("Shop")["definition"] });
    let updated = server.request(&owner, Method::PUT, &format!("/pipelines/{shop}")).json(&without);
    assert_eq!(updated.send().await.unwrap().status(), 200);
    let path = format!("/freezes/{}", id(&created));
    for body in [json!({ "reason": "Later" }), json!({ "environments": ["production"], "name": "Later" })] {
        success(send(&server, &owner, Method::PATCH, &path, &body).await, 200).await;
    }
    for body in [json!({ "environments": ["production", "staging"] }), json!({ "pipelines": [] })] {
        wrong_field(send(&server, &owner, Method::PATCH, &path, &body).await, "/environments").await;
    }
    server.end().await;
}
