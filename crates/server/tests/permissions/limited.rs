//! Tokens that are limited to pipelines: lists and streams contain nothing else. The matrix covers single
//! records.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::fixture::PermissionFixture;
use crate::operations::WITH_ENVIRONMENT;
use crate::support::database::TestDatabase;
use crate::support::eventually;

const PIPELINES: &str = "/organizations/acme/pipelines";

/// Creates two pipelines, `mine` and `other`, each with a session and a deployment, and a token limited to
/// the first.
async fn two_pipelines(fixture: &PermissionFixture) -> (String, String, String) {
    let mut ids = Vec::new();
    for name in ["mine", "other"] {
        let body = json!({ "name": name, "definition": WITH_ENVIRONMENT });
        let made = fixture.server.post(PIPELINES, &fixture.owner.token, body).await.succeeded(201);
        let path = format!("{PIPELINES}/{name}/ephemeral-environments/qa-1/sessions");
        fixture
            .server
            .post(&path, &fixture.owner.token, json!({ "commitId": "0123abc" }))
            .await
            .succeeded(201);
        ids.push(made.field("id"));
    }
    let body = json!({ "name": "limited", "pipelines": [ids[0]] });
    let made = fixture.server.post("/organizations/acme/api-tokens", &fixture.owner.token, body).await;
    let token = made.succeeded(201).field("token");
    (ids.remove(0), ids.remove(0), token)
}

#[tokio::test]
async fn lists_show_the_pipelines_of_the_token_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (mine, other, token) = two_pipelines(&fixture).await;
    let events = "/organizations/acme/events?limit=100&type=session.claimed";
    let sequenced = eventually(Duration::from_secs(5), async || {
        fixture.server.get(events, &fixture.owner.token).await.json["pagination"]["total"] == 2
    });
    assert!(sequenced.await);
    for path in [
        PIPELINES,
        "/organizations/acme/pipelines?status=active",
        "/organizations/acme/pipelines?q=e",
        "/organizations/acme/deployments",
        "/organizations/acme/ephemeral-environments",
        "/organizations/acme/ephemeral-environments?holder=me&q=qa&label=web&status=locked",
        "/organizations/acme/environments",
        "/organizations/acme/environments?kind=lasting",
        "/organizations/acme/sessions?userId=me",
        "/organizations/acme/sessions?status=active,queued",
        events,
        "/organizations/acme/events?limit=100&after=0",
        "/organizations/acme/events?limit=100",
    ] {
        let all = fixture.server.get(path, &fixture.owner.token).await.succeeded(200);
        assert!(all.text.contains(&mine) && all.text.contains(&other), "{}", all.text);
        let record = fixture.server.get(path, &token).await.succeeded(200);
        assert!(record.text.contains(&mine) && !record.text.contains(&other), "{path}: {}", record.text);
        let rows = record.json["data"].as_array().unwrap().len();
        assert_eq!(record.json["pagination"]["total"], rows, "{path}: {}", record.text);
        assert!(
            !record.text.contains("\"token.") && !record.text.contains("\"organization."),
            "{}",
            record.text
        );
    }
    let empty = fixture.server.get("/organizations/acme/pipelines?offset=1", &token).await.succeeded(200);
    assert_eq!((&empty.json["data"], &empty.json["pagination"]["total"]), (&json!([]), &json!(1)));
    let summary = fixture.server.get("/organizations/acme/summary", &token).await.succeeded(200);
    let counts = &summary.json["data"];
    assert_eq!((&counts["pipelines"]["total"], &counts["yours"]["held"]), (&json!(1), &json!(1)));
    assert_eq!((&counts["environments"]["total"], &counts["deployments"]["queued"]), (&json!(1), &json!(1)));
    // A filter does not bypass the limit, and does not show whether the pipeline exists.
    for name in [other.as_str(), "other", "no-such-pipeline"] {
        for list in ["ephemeral-environments", "environments"] {
            let path = format!("/organizations/acme/{list}?pipelineId={name}");
            let record = fixture.server.get(&path, &token).await.succeeded(200);
            assert_eq!((&record.json["data"], &record.json["pagination"]["total"]), (&json!([]), &json!(0)));
        }
    }
    // Events of other pipelines are not found, by id or by filter.
    let others = format!("/organizations/acme/events?subject=pipelines/{other}");
    assert_eq!(fixture.server.get(&others, &token).await.succeeded(200).json["data"], json!([]));
    let created = fixture.server.get(&others, &fixture.owner.token).await.json["data"][0]["id"].clone();
    let path = format!("/organizations/acme/events/{}", created.as_str().unwrap());
    fixture.server.get(&path, &token).await.refused(404, "not_found");
    fixture
        .server
        .get("/organizations/acme/events?category=audit", &token)
        .await
        .refused(403, "token_limited");
    fixture.server.stop().await;
}

/// Other pipelines are not found, by slug or by id.
#[tokio::test]
async fn a_slug_does_not_bypass_the_limit_to_pipelines() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (mine, other, token) = two_pipelines(&fixture).await;
    for name in [mine.as_str(), "mine"] {
        let record = fixture.server.get(&format!("{PIPELINES}/{name}"), &token).await.succeeded(200);
        assert_eq!(record.field("id"), mine);
        let path = format!("{PIPELINES}/{name}/ephemeral-environments/qa-1");
        fixture.server.get(&path, &token).await.succeeded(200);
    }
    let nothing = fixture.server.get(&format!("{PIPELINES}/no-such-pipeline"), &token).await;
    for name in [other.as_str(), "other"] {
        let refused = fixture.server.get(&format!("{PIPELINES}/{name}"), &token).await;
        assert_eq!(refused.comparable(), nothing.comparable());
    }
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_stream_shows_the_pipelines_of_the_token_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (mine, other, token) = two_pipelines(&fixture).await;
    let sequenced = eventually(Duration::from_secs(5), async || {
        let path = "/organizations/acme/events?type=session.claimed";
        fixture.server.get(path, &fixture.owner.token).await.json["pagination"]["total"] == 2
    });
    assert!(sequenced.await);
    // Events from the database first, then live ones.
    let path = "/organizations/acme/events/stream?after=0";
    let mut stream = fixture.server.send(Method::GET, path, Some(&token), None).await;
    for name in ["other", "mine"] {
        let path = format!("{PIPELINES}/{name}/stop");
        fixture.server.post(&path, &fixture.owner.token, json!({})).await.succeeded(200);
    }
    let mut text = String::new();
    let read = async {
        while !text.contains("event: pipeline.stopped") {
            text += std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read).await.unwrap();
    assert!(text.contains(&mine) && text.contains("session.claimed"), "{text}");
    assert!(!text.contains(&other) && !text.contains("event: token."), "{text}");
    drop(stream);
    fixture.server.stop().await;
}
