//! Audit events are for admins; to everybody else they look like not there.

use std::time::Duration;

use greenroom_domain::id::EventId;
use sqlx::PgPool;
use uuid::Uuid;

use crate::answer::Answer;
use crate::world::World;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn audit_events_are_for_admins(pool: PgPool) {
    let world = World::new(&pool).await;
    world.server.pipeline(&world.owner, "Shop").await;
    let (audit, deployment) =
        (world.event("organization.created").await, world.event("pipeline.created").await);
    let nothing = EventId::from(Uuid::now_v7());
    let at = |path: &str| format!("/organizations/acme/events{path}");

    for role in ["viewer", "developer", "maintainer"] {
        let token = world.member(role).await.token;
        let get = async |path: &str| world.server.get(&at(path), &token).await;
        let listed = get("?limit=100").await.succeeded(200);
        let events = listed.json["data"].as_array().unwrap();
        assert_eq!(events.len(), 1, "{role}: {}", listed.text);
        assert_eq!(events[0]["id"], deployment, "{role}");
        // Neither the total nor a filter tells of the others.
        assert_eq!(listed.json["pagination"]["total"], 1, "{role}");
        let filtered = get("?type=organization.created").await.succeeded(200);
        assert_eq!(filtered.json["pagination"]["total"], 0, "{role}");
        assert_eq!(get("?after=0").await.json["data"].as_array().unwrap().len(), 1, "{role}");

        get("?category=audit").await.refused(403, "forbidden");
        get("/stream?category=audit").await.refused(403, "forbidden");
        get(&format!("/{deployment}")).await.succeeded(200);
        let hidden = get(&format!("/{audit}")).await;
        hidden.refused(404, "not_found");
        assert_eq!(hidden.face(), get(&format!("/{nothing}")).await.face(), "{role}");
    }
    for role in ["admin", "owner"] {
        let token = world.member(role).await.token;
        let get = async |path: &str| world.server.get(&at(path), &token).await;
        assert_eq!(
            get("?category=audit&type=organization.created").await.json["pagination"]["total"],
            1,
            "{role}"
        );
        get(&format!("/{audit}")).await.succeeded(200);
        get("/stream?category=audit").await.succeeded(200);
    }
    world.server.stop().await;
}

/// A stream from the beginning shows a viewer the pipeline, and none of the six audit events before it.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn streams_leave_audit_events_out(pool: PgPool) {
    let world = World::new(&pool).await;
    let viewer = world.member("viewer").await;
    world.server.pipeline(&world.owner, "Shop").await;
    world.event("pipeline.created").await;
    for (token, sees) in [(&viewer.token, false), (&world.owner.token, true)] {
        let path = "/organizations/acme/events/stream?after=0";
        let mut stream = world.server.send(reqwest::Method::GET, path, Some(token), None).await;
        assert_eq!(stream.status(), 200);
        let mut text = String::new();
        while !text.contains("pipeline.created") {
            let chunk = tokio::time::timeout(Duration::from_secs(5), stream.chunk()).await.unwrap();
            text += std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap();
        }
        assert_eq!(text.contains("member.added"), sees, "{text}");
        assert_eq!(text.contains("token.created"), sees, "{text}");
    }
    world.server.stop().await;
}

/// Who may not see an event can't find out about it under another organization either.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn events_stay_in_their_organization(pool: PgPool) {
    let world = World::new(&pool).await;
    let id = world.event("organization.created").await;
    let listed: Answer =
        world.server.get("/organizations/globex/events?limit=100", &world.stranger.token).await;
    assert!(!listed.text.contains(&id), "{}", listed.text);
    assert!(!listed.text.contains(&world.owner.organization), "{}", listed.text);
    let path = format!("/organizations/globex/events?subject=organizations/{}", world.owner.organization);
    assert_eq!(world.server.get(&path, &world.stranger.token).await.json["pagination"]["total"], 0);
    world.server.stop().await;
}
