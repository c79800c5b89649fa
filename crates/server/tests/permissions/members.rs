//! Members: who may add, change and remove whom.

use serde_json::json;
use sqlx::PgPool;

use crate::world::World;

const MEMBERS: &str = "/organizations/acme/members";

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_admin_has_no_say_over_owners(pool: PgPool) {
    let world = World::new(&pool).await;
    let admin = world.member("admin").await;
    let (owner, viewer) = (world.member("owner").await, world.member("viewer").await);
    let of = |user: &str| format!("{MEMBERS}/{user}");
    let refused = async |answer: crate::answer::Answer| {
        answer.refused(403, "forbidden");
        assert_eq!(answer.json["requiredRole"], "owner", "{}", answer.text);
        assert_eq!(answer.json["role"], "admin", "{}", answer.text);
    };

    // Make: another, a member, oneself.
    let body = json!({ "email": "new@acme.test", "name": "New", "role": "owner" });
    refused(world.server.post(MEMBERS, &admin.token, body).await).await;
    refused(world.server.patch(&of(&viewer.user), &admin.token, json!({ "role": "owner" })).await).await;
    refused(world.server.patch(&of(&admin.user), &admin.token, json!({ "role": "owner" })).await).await;
    // Change: role, name, or nothing at all.
    for body in
        [json!({ "role": "admin" }), json!({ "name": "Renamed" }), json!({ "role": "owner" }), json!({})]
    {
        refused(world.server.patch(&of(&owner.user), &admin.token, body).await).await;
    }
    // Remove.
    refused(world.server.delete(&of(&owner.user), &admin.token).await).await;

    // What is an admin's: everybody else, admins and oneself included.
    let other = world.member("admin").await;
    world.server.patch(&of(&viewer.user), &admin.token, json!({ "role": "admin" })).await.succeeded(200);
    world.server.patch(&of(&other.user), &admin.token, json!({ "role": "viewer" })).await.succeeded(200);
    world.server.delete(&of(&other.user), &admin.token).await.succeeded(200);
    world.server.delete(&of(&admin.user), &admin.token).await.succeeded(200);
    // And what is an owner's.
    world
        .server
        .patch(&of(&viewer.user), &world.owner.token, json!({ "role": "owner" }))
        .await
        .succeeded(200);
    world.server.patch(&of(&owner.user), &world.owner.token, json!({ "role": "admin" })).await.succeeded(200);
    world.server.delete(&of(&viewer.user), &world.owner.token).await.succeeded(200);
    world.server.stop().await;
}

/// A removed owner whom an admin takes back does not come back as one.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_admin_takes_no_owner_back(pool: PgPool) {
    let world = World::new(&pool).await;
    let admin = world.member("admin").await;
    let body = |role: &str| json!({ "email": "former@acme.test", "name": "Former", "role": role });
    let owner = world.server.post(MEMBERS, &world.owner.token, body("owner")).await.succeeded(201);
    let path = format!("{MEMBERS}/{}", owner.field("userId"));
    world.server.delete(&path, &world.owner.token).await.succeeded(200);
    world.server.get(&path, &world.owner.token).await.refused(404, "not_found");
    world.server.post(MEMBERS, &admin.token, body("owner")).await.refused(403, "forbidden");
    let back = world.server.post(MEMBERS, &admin.token, body("viewer")).await.succeeded(201);
    assert_eq!(back.field("userId"), owner.field("userId"));
    assert_eq!(world.server.get(&path, &admin.token).await.field("role"), "viewer");
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_address_is_added_once(pool: PgPool) {
    let world = World::new(&pool).await;
    let token = &world.owner.token;
    let body = |email: &str| json!({ "email": email, "name": "Dev", "role": "viewer" });
    let first = world.server.post(MEMBERS, token, body("dev@acme.test")).await.succeeded(201);
    for again in ["dev@acme.test", "Dev@Acme.Test", "DEV@ACME.TEST"] {
        world.server.post(MEMBERS, token, body(again)).await.refused(409, "already_member");
    }
    // Nothing of the refused requests has come through.
    let member = world.server.get(&format!("{MEMBERS}/{}", first.field("userId")), token).await;
    assert_eq!(member.field("email"), "dev@acme.test");
    assert_eq!(world.server.get(MEMBERS, token).await.json["pagination"]["total"], 2);
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_address_is_added_once_also_at_the_same_time(pool: PgPool) {
    let world = World::new(&pool).await;
    let body = |email: &str| json!({ "email": email, "name": "Dev", "role": "viewer" });
    let add = async |email: &str| world.server.post(MEMBERS, &world.owner.token, body(email)).await.status;
    for round in 0..5 {
        let (lower, upper) = (format!("dev{round}@acme.test"), format!("DEV{round}@ACME.TEST"));
        let (a, b, c, d) = tokio::join!(add(&lower), add(&upper), add(&lower), add(&upper));
        let mut statuses = [a, b, c, d];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409]);
    }
    world.server.stop().await;
}

/// A record reads the same in the answer to the request that made it and later.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_member_is_shown_as_added(pool: PgPool) {
    let world = World::new(&pool).await;
    let body = |email: &str| json!({ "email": email, "name": "Dev", "role": "viewer" });
    let added = world.server.post(MEMBERS, &world.owner.token, body("dev@acme.test")).await.succeeded(201);
    let path = format!("{MEMBERS}/{}", added.field("userId"));
    assert_eq!(world.server.get(&path, &world.owner.token).await.json, added.json);
    world.server.delete(&path, &world.owner.token).await.succeeded(200);
    let again = world.server.post(MEMBERS, &world.owner.token, body("Dev@acme.test")).await.succeeded(201);
    assert_eq!(world.server.get(&path, &world.owner.token).await.json, again.json);
    world.server.stop().await;
}
