//! Audit events are for admins; for all others they do not exist.

use std::time::Duration;

use greenroom_domain::id::EventId;
use uuid::Uuid;

use crate::fixture::PermissionFixture;
use crate::response::TestResponse;
use crate::support::database::TestDatabase;
use crate::support::eventually;

#[tokio::test]
async fn audit_events_are_for_admins() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    fixture.server.pipeline(&fixture.owner, "Shop").await;
    let (audit, deployment) =
        (fixture.event("organization.created").await, fixture.event("pipeline.created").await);
    let nothing = EventId::from(Uuid::now_v7());
    let at = |path: &str| format!("/organizations/acme/events{path}");

    for role in ["viewer", "developer", "maintainer"] {
        let member = fixture.member(role).await;
        let token = member.token;
        let get = async |path: &str| fixture.server.get(&at(path), &token).await;
        let added = format!("?subject=members/{}", member.user);
        let is_recorded = async || get(&added).await.json["pagination"]["total"] == 1;
        assert!(eventually(Duration::from_secs(5), is_recorded).await, "{role}");
        let list = get("?limit=100").await.succeeded(200);
        let events = list.json["data"].as_array().unwrap();
        assert!(events.iter().any(|event| event["id"] == *deployment), "{role}: {}", list.text);
        // Of the audit events, every member reads who has become a member.
        let others: Vec<_> = events.iter().filter(|event| event["category"] == "audit").collect();
        assert!(!others.is_empty(), "{role}: {}", list.text);
        assert!(others.iter().all(|event| event["type"] == "member.added"), "{role}: {}", list.text);
        // Neither the total nor a filter discloses the others.
        assert_eq!(list.json["pagination"]["total"], events.len(), "{role}");
        assert_eq!(get("?category=deployment").await.json["pagination"]["total"], 1, "{role}");
        let filtered = get("?type=organization.created").await.succeeded(200);
        assert_eq!(filtered.json["pagination"]["total"], 0, "{role}");
        let read_on = get("?after=0&category=deployment").await;
        assert_eq!(read_on.json["data"].as_array().unwrap().len(), 1, "{role}");

        get("?category=audit").await.refused(403, "forbidden");
        get("/stream?category=audit").await.refused(403, "forbidden");
        get(&format!("/{deployment}")).await.succeeded(200);
        let hidden = get(&format!("/{audit}")).await;
        hidden.refused(404, "not_found");
        assert_eq!(hidden.comparable(), get(&format!("/{nothing}")).await.comparable(), "{role}");
    }
    for role in ["admin", "owner"] {
        let token = fixture.member(role).await.token;
        let get = async |path: &str| fixture.server.get(&at(path), &token).await;
        assert_eq!(
            get("?category=audit&type=organization.created").await.json["pagination"]["total"],
            1,
            "{role}"
        );
        get(&format!("/{audit}")).await.succeeded(200);
        get("/stream?category=audit").await.succeeded(200);
    }
    fixture.server.stop().await;
}

/// A stream from the beginning sends a viewer the event of the pipeline, and of the audit events before it only those of new
/// members.
#[tokio::test]
async fn streams_leave_audit_events_out() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let viewer = fixture.member("viewer").await;
    fixture.server.pipeline(&fixture.owner, "Shop").await;
    fixture.event("pipeline.created").await;
    for (token, sees) in [(&viewer.token, false), (&fixture.owner.token, true)] {
        let path = "/organizations/acme/events/stream?after=0";
        let mut stream = fixture.server.send(reqwest::Method::GET, path, Some(token), None).await;
        assert_eq!(stream.status(), 200);
        let mut text = String::new();
        while !text.contains("pipeline.created") {
            let chunk = tokio::time::timeout(Duration::from_secs(5), stream.chunk()).await.unwrap();
            text += std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap();
        }
        assert!(text.contains("member.added"), "{text}");
        assert_eq!(text.contains("token.created"), sees, "{text}");
    }
    fixture.server.stop().await;
}

/// An event cannot be read through the path of another organization either.
#[tokio::test]
async fn events_stay_in_their_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let id = fixture.event("organization.created").await;
    let list: TestResponse =
        fixture.server.get("/organizations/globex/events?limit=100", &fixture.stranger.token).await;
    assert!(!list.text.contains(&id), "{}", list.text);
    assert!(!list.text.contains(&fixture.owner.organization), "{}", list.text);
    let path = format!("/organizations/globex/events?subject=organizations/{}", fixture.owner.organization);
    assert_eq!(fixture.server.get(&path, &fixture.stranger.token).await.json["pagination"]["total"], 0);
    fixture.server.stop().await;
}
