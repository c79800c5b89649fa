//! Members: who may add, change and remove whom.

use serde_json::json;

use crate::fixture::PermissionFixture;
use crate::support::database::TestDatabase;

const MEMBERS: &str = "/organizations/acme/members";

#[tokio::test]
async fn an_admin_cannot_change_owners() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let admin = fixture.member("admin").await;
    let (owner, viewer) = (fixture.member("owner").await, fixture.member("viewer").await);
    let of = |user: &str| format!("{MEMBERS}/{user}");
    let refused = async |response: crate::response::TestResponse| {
        response.refused(403, "forbidden");
        assert_eq!(response.json["requiredRole"], "owner", "{}", response.text);
        assert_eq!(response.json["role"], "admin", "{}", response.text);
    };

    // Making an owner: a new member, an existing one, oneself.
    let body = json!({ "email": "new@acme.test", "name": "New", "role": "owner" });
    refused(fixture.server.post(MEMBERS, &admin.token, body).await).await;
    refused(fixture.server.patch(&of(&viewer.user), &admin.token, json!({ "role": "owner" })).await).await;
    refused(fixture.server.patch(&of(&admin.user), &admin.token, json!({ "role": "owner" })).await).await;
    // Changing an owner: role, name, or nothing.
    for body in
        [json!({ "role": "admin" }), json!({ "name": "Renamed" }), json!({ "role": "owner" }), json!({})]
    {
        refused(fixture.server.patch(&of(&owner.user), &admin.token, body).await).await;
    }
    // Removing an owner.
    refused(fixture.server.delete(&of(&owner.user), &admin.token).await).await;

    // An admin can change all others, including admins and oneself.
    let other = fixture.member("admin").await;
    fixture.server.patch(&of(&viewer.user), &admin.token, json!({ "role": "admin" })).await.succeeded(200);
    fixture.server.patch(&of(&other.user), &admin.token, json!({ "role": "viewer" })).await.succeeded(200);
    fixture.server.delete(&of(&other.user), &admin.token).await.succeeded(200);
    fixture.server.delete(&of(&admin.user), &admin.token).await.succeeded(200);
    // An owner can change owners.
    fixture
        .server
        .patch(&of(&viewer.user), &fixture.owner.token, json!({ "role": "owner" }))
        .await
        .succeeded(200);
    fixture
        .server
        .patch(&of(&owner.user), &fixture.owner.token, json!({ "role": "admin" }))
        .await
        .succeeded(200);
    fixture.server.delete(&of(&viewer.user), &fixture.owner.token).await.succeeded(200);
    fixture.server.stop().await;
}

/// An admin cannot restore a removed owner as an owner.
#[tokio::test]
async fn an_admin_cannot_restore_an_owner() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let admin = fixture.member("admin").await;
    let body = |role: &str| json!({ "email": "former@acme.test", "name": "Former", "role": role });
    let owner = fixture.server.post(MEMBERS, &fixture.owner.token, body("owner")).await.succeeded(201);
    let path = format!("{MEMBERS}/{}", owner.field("userId"));
    fixture.server.delete(&path, &fixture.owner.token).await.succeeded(200);
    fixture.server.get(&path, &fixture.owner.token).await.refused(404, "not_found");
    fixture.server.post(MEMBERS, &admin.token, body("owner")).await.refused(403, "forbidden");
    let back = fixture.server.post(MEMBERS, &admin.token, body("viewer")).await.succeeded(201);
    assert_eq!(back.field("userId"), owner.field("userId"));
    assert_eq!(fixture.server.get(&path, &admin.token).await.field("role"), "viewer");
    fixture.server.stop().await;
}

#[tokio::test]
async fn an_address_is_added_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let token = &fixture.owner.token;
    let body = |email: &str| json!({ "email": email, "name": "Dev", "role": "viewer" });
    let first = fixture.server.post(MEMBERS, token, body("dev@acme.test")).await.succeeded(201);
    for again in ["dev@acme.test", "Dev@Acme.Test", "DEV@ACME.TEST"] {
        fixture.server.post(MEMBERS, token, body(again)).await.refused(409, "already_member");
    }
    // The refused requests have changed nothing.
    let member = fixture.server.get(&format!("{MEMBERS}/{}", first.field("userId")), token).await;
    assert_eq!(member.field("email"), "dev@acme.test");
    assert_eq!(fixture.server.get(MEMBERS, token).await.json["pagination"]["total"], 2);
    fixture.server.stop().await;
}

#[tokio::test]
async fn concurrent_requests_add_an_address_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let body = |email: &str| json!({ "email": email, "name": "Dev", "role": "viewer" });
    let add =
        async |email: &str| fixture.server.post(MEMBERS, &fixture.owner.token, body(email)).await.status;
    for round in 0..5 {
        let (lower, upper) = (format!("dev{round}@acme.test"), format!("DEV{round}@ACME.TEST"));
        let (a, b, c, d) = tokio::join!(add(&lower), add(&upper), add(&lower), add(&upper));
        let mut statuses = [a, b, c, d];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409]);
    }
    fixture.server.stop().await;
}

/// A record is the same in the response to its creation and later.
#[tokio::test]
async fn a_member_is_shown_as_added() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let body = |email: &str| json!({ "email": email, "name": "Dev", "role": "viewer" });
    let added =
        fixture.server.post(MEMBERS, &fixture.owner.token, body("dev@acme.test")).await.succeeded(201);
    let path = format!("{MEMBERS}/{}", added.field("userId"));
    assert_eq!(fixture.server.get(&path, &fixture.owner.token).await.json, added.json);
    fixture.server.delete(&path, &fixture.owner.token).await.succeeded(200);
    let again =
        fixture.server.post(MEMBERS, &fixture.owner.token, body("Dev@acme.test")).await.succeeded(201);
    assert_eq!(fixture.server.get(&path, &fixture.owner.token).await.json, again.json);
    fixture.server.stop().await;
}
