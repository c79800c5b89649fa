//! The environments and sessions of all pipelines.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const OTHER: &str = "ephemeralEnvironments:\n  load-1: { labels: [big, slow] }\n  qa-1: { labels: [qa] }\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n";

/// Adds the pipeline `api`, which comes before `shop`.
async fn add_pipeline(fixture: &EnvironmentFixture) -> String {
    let body = json!({ "name": "API", "slug": "api", "definition": OTHER });
    let path = "/organizations/acme/pipelines";
    let (status, made) = fixture.server.json(Method::POST, path, &fixture.owner.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

async fn read(fixture: &EnvironmentFixture, caller: &Caller, path: &str) -> Value {
    let path = format!("/organizations/acme{path}");
    let (status, list) = fixture.server.json(Method::GET, &path, &caller.token, None).await;
    assert_eq!(status, 200, "{path}: {list}");
    list
}

/// Returns `pipeline/envName` of each record.
fn names(list: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = list["data"].as_array().unwrap().iter();
    rows.map(|row| format!("{}/{}", text(&row["pipeline"]), text(&row["envName"]))).collect()
}

#[tokio::test]
async fn environments_of_all_pipelines_are_listed_and_filtered() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let other = add_pipeline(&fixture).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    fixture.send(&fixture.mate, Method::POST, "//pr-7/sessions", json!({})).await.is(201);

    let all = read(&fixture, &fixture.dev, "/ephemeral-environments").await;
    assert_eq!(names(&all), ["api/load-1", "api/qa-1", "shop/pr-7", "shop/qa-1", "shop/pr-*"]);
    assert_eq!(all["pagination"], json!({ "limit": 20, "offset": 0, "total": 5 }));
    assert_eq!(read(&fixture, &fixture.mate, "/ephemeral-environments").await, all, "two reads are equal");
    let template = &all["data"][4];
    assert_eq!((&template["template"], &template["configuration"]["max"]), (&json!(true), &json!(2)));
    assert_eq!(template["lock"], json!({ "status": "free", "queueLength": 0 }));
    // A record is that of its pipeline's list, with the pipeline.
    let own = fixture.get(&fixture.dev, "").await.is(200)["data"].clone();
    let mut listed = all["data"][3].clone();
    for (name, expected) in
        [("pipelineId", json!(fixture.pipeline)), ("pipeline", json!("shop")), ("template", json!(false))]
    {
        assert_eq!(listed.as_object_mut().unwrap().remove(name), Some(expected));
    }
    assert_eq!(listed, own);

    let dev = format!("holder={}", fixture.dev.user);
    for (query, expected) in [
        ("q=LOAD", &["api/load-1"][..]),
        ("q=slow", &["api/load-1"]),
        ("q=A%20developer", &["shop/pr-7", "shop/qa-1"]),
        ("q=pr-", &["shop/pr-7", "shop/pr-*"]),
        ("q=", &["api/load-1", "api/qa-1", "shop/pr-7", "shop/qa-1", "shop/pr-*"]),
        ("pipelineId=api", &["api/load-1", "api/qa-1"]),
        (&format!("pipelineId={other}"), &["api/load-1", "api/qa-1"]),
        ("pipelineId=nothing", &[]),
        ("label=big", &["api/load-1"]),
        ("label=slow,big", &["api/load-1"]),
        ("label=big,qa", &[]),
        ("status=free", &["api/load-1", "api/qa-1"]),
        ("status=locked", &["shop/pr-7", "shop/qa-1"]),
        ("holder=me", &["shop/qa-1"]),
        (&dev, &["shop/qa-1"]),
        ("holder=me&status=free", &[]),
    ] {
        let list = read(&fixture, &fixture.dev, &format!("/ephemeral-environments?{query}")).await;
        assert_eq!(names(&list), expected, "{query}");
        assert_eq!(list["pagination"]["total"], expected.len(), "{query}");
    }
    // All pages together have every record once, with the templates after the environments.
    let mut pages = Vec::new();
    for offset in (0..6).step_by(2) {
        let path = format!("/ephemeral-environments?limit=2&offset={offset}");
        pages.extend(names(&read(&fixture, &fixture.dev, &path).await));
    }
    assert_eq!(pages, names(&all));
    fixture.end().await;
}

#[tokio::test]
async fn a_lease_that_has_run_out_is_not_listed_as_held() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({ "ttlSeconds": 60 })).await.is(201);
    fixture.age(61).await;
    let held = read(&fixture, &fixture.dev, "/ephemeral-environments?holder=me").await;
    assert_eq!(held["data"], json!([]));
    let free = read(&fixture, &fixture.dev, "/ephemeral-environments?status=free").await;
    assert_eq!(names(&free), ["shop/qa-1"]);
    fixture.claim(&fixture.dev, json!({ "ttlSeconds": 60 })).await.is(201);
    fixture.age(61).await;
    assert_eq!(read(&fixture, &fixture.dev, "/sessions?userId=me").await["data"], json!([]));
    fixture.end().await;
}

#[tokio::test]
async fn live_sessions_of_all_pipelines_are_listed() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let other = add_pipeline(&fixture).await;
    let ended = fixture.claim(&fixture.mate, json!({})).await.session();
    fixture.delete(&fixture.mate, &format!("/sessions/{ended}")).await.is(200);
    let held = fixture.claim(&fixture.dev, json!({ "commitId": "0123abc" })).await.session();
    let waits = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let path = format!("/organizations/acme/pipelines/{other}/ephemeral-environments/load-1/sessions");
    let (_, claimed) = fixture.server.json(Method::POST, &path, &fixture.mate.token, Some(json!({}))).await;
    let elsewhere = claimed["data"]["sessionId"].as_str().unwrap();
    let ids = |list: &Value| {
        let rows = list["data"].as_array().unwrap().iter();
        rows.map(|row| row["sessionId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    let all = read(&fixture, &fixture.dev, "/sessions").await;
    assert_eq!(ids(&all), [elsewhere, &waits, &held], "newest first, and none that has ended");
    assert_eq!(all["pagination"], json!({ "limit": 20, "offset": 0, "total": 3 }));
    assert_eq!(read(&fixture, &fixture.dev, "/sessions").await, all, "two reads are equal");
    assert_eq!(names(&all), ["api/load-1", "shop/qa-1", "shop/qa-1"]);
    assert_eq!(
        (&all["data"][1]["position"], &all["data"][1]["lock"]["sessionId"]),
        (&json!(1), &json!(held))
    );
    assert_eq!(all["data"][2]["deployments"][0]["commitId"], "0123abc");

    let mate = format!("userId={}", fixture.mate.user);
    let (active, queued) = (vec![elsewhere, held.as_str()], vec![waits.as_str()]);
    for (caller, query, expected) in [
        (&fixture.dev, "userId=me", vec![held.as_str()]),
        (&fixture.mate, "userId=me", vec![elsewhere, &waits]),
        (&fixture.dev, mate.as_str(), vec![elsewhere, &waits]),
        (&fixture.dev, "status=active", active),
        (&fixture.dev, "status=queued", queued.clone()),
        (&fixture.dev, "status=queued,active&limit=1&offset=1", queued),
        (&fixture.dev, "userId=me&status=queued", vec![]),
        (&fixture.owner, "userId=me", vec![]),
    ] {
        assert_eq!(ids(&read(&fixture, caller, &format!("/sessions?{query}")).await), expected, "{query}");
    }
    // Reading does not keep the place of a session that waits.
    fixture.age(121).await;
    read(&fixture, &fixture.mate, "/sessions?userId=me").await;
    fixture.sweep().await;
    assert_eq!(ids(&read(&fixture, &fixture.mate, "/sessions?userId=me").await), [elsewhere]);
    fixture.end().await;
}

#[tokio::test]
async fn a_summary_counts_what_is_going_on() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    add_pipeline(&fixture).await;
    let empty = read(&fixture, &fixture.dev, "/summary").await["data"].clone();
    assert_eq!(empty["environments"], json!({ "total": 3, "free": 3 }));
    assert_eq!(empty["pipelines"], json!({ "total": 2, "stopped": 0 }));

    let held = fixture.claim(&fixture.dev, json!({ "commitId": "0123abc" })).await.session();
    fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);
    let request = format!("/sessions/{held}/request-handover");
    fixture.send(&fixture.mate, Method::POST, &request, json!({})).await.is(202);
    let expected = json!({
        "pipelines": { "total": 2, "stopped": 0 },
        "environments": { "total": 3, "free": 2 },
        "queuedSessions": 1,
        "yours": { "held": 1, "queued": 0, "turns": 0, "handovers": 1 },
        "deployments": { "queued": 1, "running": 0, "waiting": 0, "paused": 0, "canceling": 0 },
    });
    assert_eq!(read(&fixture, &fixture.dev, "/summary").await["data"], expected);
    let mates = read(&fixture, &fixture.mate, "/summary").await["data"]["yours"].clone();
    assert_eq!(mates, json!({ "held": 0, "queued": 1, "turns": 0, "handovers": 0 }));
    let other = read(&fixture, &fixture.dev, "/summary?pipelineId=api").await["data"].clone();
    assert_eq!(other["environments"], json!({ "total": 2, "free": 2 }));
    assert_eq!((&other["yours"]["held"], &other["pipelines"]["total"]), (&json!(0), &json!(1)));
    let nothing = read(&fixture, &fixture.dev, "/summary?pipelineId=nothing").await["data"].clone();
    assert_eq!(nothing["environments"], json!({ "total": 0, "free": 0 }));

    // The turn of the session that waits has to be confirmed.
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let mates = read(&fixture, &fixture.mate, "/summary").await["data"]["yours"].clone();
    assert_eq!(mates, json!({ "held": 1, "queued": 0, "turns": 1, "handovers": 0 }));
    fixture.end().await;
}

#[tokio::test]
async fn a_pipeline_shows_its_environments_and_recent_deployments() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    add_pipeline(&fixture).await;
    let path = format!("/pipelines/{}", fixture.pipeline);
    assert_eq!(
        read(&fixture, &fixture.dev, &path).await["data"]["environments"],
        json!({ "total": 1, "free": 1 })
    );
    let tag = async || {
        let path = format!("/organizations/acme{path}");
        let response = fixture.server.send(Method::GET, &path, Some(&fixture.dev.token), None).await;
        response.headers()["etag"].to_str().unwrap().to_owned()
    };
    let before = tag().await;
    let session = fixture.claim(&fixture.dev, json!({ "commitId": "0123abc" })).await.session();
    assert_ne!(tag().await, before, "what is shown has changed");
    for number in 0..21 {
        let deploy = format!("/sessions/{session}/deploy");
        let body = json!({ "commitId": format!("0123ab{number:02}") });
        fixture.send(&fixture.dev, Method::POST, &deploy, body).await.is(202);
    }
    let record = read(&fixture, &fixture.dev, &path).await["data"].clone();
    assert_eq!(record["environments"], json!({ "total": 1, "free": 0 }));
    let recent = record["recentDeployments"].as_array().unwrap();
    assert_eq!((recent.len(), &recent[0]["commitId"]), (20, &json!("0123ab20")), "newest first, 20 at most");
    assert_eq!(recent[0], record["lastDeployment"]);
    let list = read(&fixture, &fixture.dev, "/pipelines").await;
    assert_eq!(list["data"][1], record);
    assert_eq!(list["data"][0]["environments"], json!({ "total": 2, "free": 2 }));

    // A change with the revision that was read succeeds, whatever was claimed and deployed since.
    let url = format!("{}/organizations/acme{path}", fixture.server.base);
    let request = fixture.server.client.put(url).bearer_auth(&fixture.owner.token).header("if-match", before);
    let changed: Value =
        request.json(&json!({ "name": "Other" })).send().await.unwrap().json().await.unwrap();
    assert_eq!(changed["data"], read(&fixture, &fixture.dev, &path).await["data"]);
    fixture.end().await;
}
