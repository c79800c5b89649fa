//! What ends with a grant.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::grants::Fixture;
use crate::support::database::TestDatabase;
use crate::support::eventually;

#[tokio::test]
async fn sessions_end_with_the_grant_that_permitted_them() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let (viewer, developer) =
        (fixture.viewer().await, fixture.server.member(&fixture.owner, "acme", "developer").await);
    for user in [&viewer, &developer] {
        fixture.grant(user, "developer").await;
    }
    let session = fixture.held(&viewer, "qa-1").await;
    let other = fixture.held(&developer, "qa-2").await;
    let path = format!("/pipelines/shop/grants/users/{}", viewer.user);
    let planned = fixture.done(Method::DELETE, &format!("{path}?dryRun=true"), Value::Null).await;
    assert_eq!(fixture.status(&session).await, "active", "a dry run");
    let ended = fixture.done(Method::DELETE, &path, Value::Null).await;
    assert_eq!(planned, ended);
    assert_eq!(ended["ended"][0]["userId"], viewer.user);
    assert_eq!(fixture.status(&session).await, "released");
    assert_eq!(fixture.claim(&viewer, "shop", "qa-1").await.0, 403);
    // Whose role in the organization is enough keeps the session.
    let path = format!("/pipelines/shop/grants/users/{}", developer.user);
    assert_eq!(fixture.done(Method::DELETE, &path, Value::Null).await["ended"], json!([]));
    assert_eq!(fixture.status(&other).await, "active");
    fixture.server.end().await;
}

/// A grant through a group ends with the membership in it, with the grant, and with the group. Another grant keeps the session.
#[tokio::test]
async fn sessions_end_when_the_last_grant_through_a_group_is_gone() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    let (one, two) = (fixture.group_of("one", &[&viewer]).await, fixture.group_of("two", &[&viewer]).await);
    let grant = async |group: &str| {
        let path = format!("/pipelines/shop/grants/groups/{group}");
        fixture.done(Method::PUT, &path, json!({ "role": "developer" })).await;
        path
    };
    for way in ["member", "grant", "group"] {
        let (of_one, _) = (grant(&one).await, grant(&two).await);
        let member = format!("/groups/{two}/members/{}", viewer.user);
        fixture.done(Method::PUT, &member, Value::Null).await;
        let session = fixture.held(&viewer, "qa-1").await;
        assert_eq!(fixture.done(Method::DELETE, &of_one, Value::Null).await["ended"], json!([]), "{way}");
        assert_eq!(fixture.status(&session).await, "active", "{way}");
        let path = match way {
            "member" => member,
            "grant" => format!("/pipelines/shop/grants/groups/{two}"),
            _ => format!("/groups/{two}"),
        };
        let planned = fixture.done(Method::DELETE, &format!("{path}?dryRun=true"), Value::Null).await;
        assert_eq!(fixture.status(&session).await, "active", "{way}");
        let ended = fixture.done(Method::DELETE, &path, Value::Null).await;
        assert_eq!(planned["ended"], ended["ended"], "{way}");
        assert_eq!(ended["ended"].as_array().unwrap().len(), 1, "{way}: {ended}");
        assert_eq!(fixture.status(&session).await, "released", "{way}");
        assert_eq!(fixture.claim(&viewer, "shop", "qa-1").await.0, 403, "{way}");
    }
    fixture.server.end().await;
}

/// Demotion ends the sessions that no grant permits, and removal all of them.
#[tokio::test]
async fn a_grant_keeps_sessions_at_a_demotion_and_not_at_a_removal() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    fixture.grant(&developer, "developer").await;
    let (kept, member) = (fixture.held(&developer, "qa-1").await, format!("/members/{}", developer.user));
    assert_eq!(fixture.claim(&developer, "bank", "qa-1").await.0, 201);
    let role = json!({ "role": "viewer" });
    let planned = fixture.done(Method::PATCH, &format!("{member}?dryRun=true"), role.clone()).await;
    let demoted = fixture.done(Method::PATCH, &member, role).await;
    assert_eq!(planned["ended"], demoted["ended"]);
    assert_eq!(demoted["ended"].as_array().unwrap().len(), 1, "{demoted}");
    assert_eq!(fixture.status(&kept).await, "active");
    // A viewer with a grant, who is removed.
    let planned = fixture.done(Method::DELETE, &format!("{member}?dryRun=true"), Value::Null).await;
    assert_eq!(fixture.status(&kept).await, "active");
    let removed = fixture.done(Method::DELETE, &member, Value::Null).await;
    assert_eq!(planned["ended"], removed["ended"]);
    assert_eq!(removed["ended"].as_array().unwrap().len(), 1, "{removed}");
    assert_eq!(fixture.status(&kept).await, "released");
    let left: i64 = sqlx::query_scalar("select count(*) from grants").fetch_one(&pool).await.unwrap();
    assert_eq!(left, 0);
    fixture.server.end().await;
}

/// The turn of a waiting session comes after its user's grant was deleted.
#[tokio::test]
async fn the_queue_skips_a_user_whose_grant_is_gone() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    fixture.grant(&viewer, "developer").await;
    let held = fixture.held(&fixture.owner, "qa-1").await;
    let path = "/pipelines/shop/ephemeral-environments/qa-1/sessions";
    let (status, queued) = fixture.call(&viewer, Method::POST, path, json!({ "queue": true })).await;
    assert_eq!(status, 202, "{queued}");
    let waiting = format!("{path}/{}", queued["data"]["sessionId"].as_str().unwrap());
    // By hand, so that the session is not ended with the grant.
    sqlx::query("delete from grants").execute(&pool).await.unwrap();
    assert_eq!(fixture.call(&fixture.owner, Method::DELETE, &held, Value::Null).await.0, 200);
    assert_eq!(fixture.status(&waiting).await, "canceled");

    fixture.grant(&viewer, "developer").await;
    let held = fixture.held(&fixture.owner, "qa-1").await;
    let (_, queued) = fixture.call(&viewer, Method::POST, path, json!({ "queue": true })).await;
    let waiting = format!("{path}/{}", queued["data"]["sessionId"].as_str().unwrap());
    assert_eq!(fixture.call(&fixture.owner, Method::DELETE, &held, Value::Null).await.0, 200);
    assert_eq!(fixture.status(&waiting).await, "active", "the grant permits it");
    fixture.server.end().await;
}

/// Of claims that run while the grant is deleted, none leaves a session behind.
#[tokio::test]
async fn a_claim_concurrent_with_the_end_of_the_grant_is_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    let path = format!("/pipelines/shop/grants/users/{}", viewer.user);
    for _ in 0..10 {
        fixture.grant(&viewer, "developer").await;
        let (claimed, deleted, _) = tokio::join!(
            fixture.claim(&viewer, "shop", "qa-1"),
            fixture.call(&fixture.owner, Method::DELETE, &path, Value::Null),
            fixture.claim(&viewer, "shop", "qa-2"),
        );
        assert_eq!(deleted.0, 200, "{deleted:?}");
        // A session that was claimed too late for the deletion to see it is still held.
        assert!([201, 403, 409].contains(&claimed.0), "{claimed:?}");
    }
    let store = &fixture.server.server.app.store;
    let gone = eventually(Duration::from_secs(5), async || {
        for ending in store.session_endings(200).await.unwrap() {
            store.repeat_session_ending(&ending).await.unwrap();
        }
        let held = "select count(*) from environments where session_id is not null";
        sqlx::query_scalar::<_, i64>(held).fetch_one(&pool).await.unwrap() == 0
    });
    assert!(gone.await, "a session without a right is left");
    fixture.server.end().await;
}

/// Holds of lasting environments need a maintainer.
#[tokio::test]
async fn a_hold_ends_when_the_grant_is_lowered() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    let path = "/pipelines/shop/environments/production/hold";
    let body = json!({ "reason": "incident", "until": crate::support::in_hours(1) });
    fixture.grant(&viewer, "developer").await;
    assert_eq!(fixture.call(&viewer, Method::POST, path, body.clone()).await.0, 403);
    fixture.grant(&viewer, "maintainer").await;
    assert_eq!(fixture.call(&viewer, Method::POST, path, body).await.0, 200);
    let held = async || {
        let found = fixture.done(Method::GET, "/pipelines/shop/environments/production", Value::Null).await;
        found["hold"].is_object()
    };
    assert!(held().await);
    fixture.grant(&viewer, "developer").await;
    assert!(!held().await);
    fixture.server.end().await;
}
