//! Tokens that are limited to pipelines: lists and streams show nothing else. Single records are in the matrix.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::operations::WITH_ENVIRONMENT;
use crate::support::eventually;
use crate::world::World;

const PIPELINES: &str = "/organizations/acme/pipelines";

/// Two pipelines, `mine` and `other`, each with a session and a deployment, and a token that is limited to the first.
async fn two_pipelines(world: &World) -> (String, String, String) {
    let mut ids = Vec::new();
    for name in ["mine", "other"] {
        let body = json!({ "name": name, "definition": WITH_ENVIRONMENT });
        let made = world.server.post(PIPELINES, &world.owner.token, body).await.succeeded(201);
        let path = format!("{PIPELINES}/{name}/ephemeral-environments/qa-1/sessions");
        world.server.post(&path, &world.owner.token, json!({ "commitId": "0123abc" })).await.succeeded(201);
        ids.push(made.field("id"));
    }
    let body = json!({ "name": "limited", "pipelines": [ids[0]] });
    let made = world.server.post("/organizations/acme/api-tokens", &world.owner.token, body).await;
    let token = made.succeeded(201).field("token");
    (ids.remove(0), ids.remove(0), token)
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn lists_show_the_pipelines_of_the_token_only(pool: PgPool) {
    let world = World::new(&pool).await;
    let (mine, other, token) = two_pipelines(&world).await;
    let events = "/organizations/acme/events?limit=100&type=session.claimed";
    let sequenced = eventually(Duration::from_secs(5), async || {
        world.server.get(events, &world.owner.token).await.json["pagination"]["total"] == 2
    });
    assert!(sequenced.await);
    for path in [
        PIPELINES,
        "/organizations/acme/pipelines?status=active",
        "/organizations/acme/deployments",
        events,
        "/organizations/acme/events?limit=100&after=0",
        "/organizations/acme/events?limit=100",
    ] {
        let all = world.server.get(path, &world.owner.token).await.succeeded(200);
        assert!(all.text.contains(&mine) && all.text.contains(&other), "{}", all.text);
        let shown = world.server.get(path, &token).await.succeeded(200);
        assert!(shown.text.contains(&mine) && !shown.text.contains(&other), "{path}: {}", shown.text);
        let rows = shown.json["data"].as_array().unwrap().len();
        assert_eq!(shown.json["pagination"]["total"], rows, "{path}: {}", shown.text);
        assert!(
            !shown.text.contains("\"token.") && !shown.text.contains("\"organization."),
            "{}",
            shown.text
        );
    }
    let empty = world.server.get("/organizations/acme/pipelines?offset=1", &token).await.succeeded(200);
    assert_eq!((&empty.json["data"], &empty.json["pagination"]["total"]), (&json!([]), &json!(1)));
    // Events of other pipelines are not there, one by one or by filter.
    let others = format!("/organizations/acme/events?subject=pipelines/{other}");
    assert_eq!(world.server.get(&others, &token).await.succeeded(200).json["data"], json!([]));
    let created = world.server.get(&others, &world.owner.token).await.json["data"][0]["id"].clone();
    let path = format!("/organizations/acme/events/{}", created.as_str().unwrap());
    world.server.get(&path, &token).await.refused(404, "not_found");
    world.server.get("/organizations/acme/events?category=audit", &token).await.refused(403, "token_limited");
    world.server.stop().await;
}

/// By slug as by id, other pipelines look like none.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_slug_reaches_no_further_than_an_id(pool: PgPool) {
    let world = World::new(&pool).await;
    let (mine, other, token) = two_pipelines(&world).await;
    for name in [mine.as_str(), "mine"] {
        let shown = world.server.get(&format!("{PIPELINES}/{name}"), &token).await.succeeded(200);
        assert_eq!(shown.field("id"), mine);
        let path = format!("{PIPELINES}/{name}/ephemeral-environments/qa-1");
        world.server.get(&path, &token).await.succeeded(200);
    }
    let nothing = world.server.get(&format!("{PIPELINES}/no-such-pipeline"), &token).await;
    for name in [other.as_str(), "other"] {
        let refused = world.server.get(&format!("{PIPELINES}/{name}"), &token).await;
        assert_eq!(refused.face(), nothing.face());
    }
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stream_shows_the_pipelines_of_the_token_only(pool: PgPool) {
    let world = World::new(&pool).await;
    let (mine, other, token) = two_pipelines(&world).await;
    let sequenced = eventually(Duration::from_secs(5), async || {
        let path = "/organizations/acme/events?type=session.claimed";
        world.server.get(path, &world.owner.token).await.json["pagination"]["total"] == 2
    });
    assert!(sequenced.await);
    // From the database first, then live.
    let path = "/organizations/acme/events/stream?after=0";
    let mut stream = world.server.send(Method::GET, path, Some(&token), None).await;
    for name in ["other", "mine"] {
        let path = format!("{PIPELINES}/{name}/stop");
        world.server.post(&path, &world.owner.token, json!({})).await.succeeded(200);
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
    world.server.stop().await;
}
