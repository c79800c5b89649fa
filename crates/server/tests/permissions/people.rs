//! One person in two organizations: one user, two names, and a wall in between.

use greenroom_domain::id::TokenId;
use greenroom_domain::text::{Email, Name};
use greenroom_domain::token_grant::TokenGrant;
use greenroom_server::app::token::new_secret;
use greenroom_store::system::bootstrap::NewToken;
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::support::DEFINITION;
use crate::world::World;

const EMAIL: &str = "pat@person.test";

/// Somebody whom both organizations know, each by another name. Returns the user's ids and tokens.
async fn pat(world: &World) -> [(String, String); 2] {
    let mut known = Vec::new();
    for (slug, name, admin) in [("acme", "Acme-Pat", &world.owner), ("globex", "Globex-Pat", &world.stranger)]
    {
        let body = json!({ "email": EMAIL, "name": name, "role": "maintainer" });
        let added = world.server.post(&format!("/organizations/{slug}/members"), &admin.token, body).await;
        let added = added.succeeded(201);
        let (secret, name) = (new_secret(), Name::new("laptop").unwrap());
        let token = NewToken {
            id: TokenId::from(Uuid::now_v7()),
            secret: &secret,
            name: &name,
            grant: &TokenGrant::of_user(),
        };
        let (slug, email) = (slug.parse().unwrap(), Email::new(EMAIL).unwrap());
        world.server.server.app.store.create_token_for(&slug, &email, &token).await.unwrap().unwrap();
        known.push((added.field("userId"), secret.reveal().to_owned()));
    }
    known.try_into().unwrap()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn neither_organization_sees_the_others_name(pool: PgPool) {
    let world = World::new(&pool).await;
    let [(user, acme), (same, globex)] = pat(&world).await;
    assert_eq!(user, same);

    for (slug, own, other, admin, token) in [
        ("acme", "Acme-Pat", "Globex-Pat", &world.owner, &acme),
        ("globex", "Globex-Pat", "Acme-Pat", &world.stranger, &globex),
    ] {
        let at = |path: &str| format!("/organizations/{slug}{path}");
        // Leaves the name wherever a name is left: in events, tokens, versions.
        let body = json!({ "name": "Pats", "definition": DEFINITION });
        world.server.post(&at("/pipelines"), token, body).await.succeeded(201);
        let made =
            world.server.post(&at("/api-tokens"), token, json!({ "name": "more" })).await.succeeded(201);
        assert_eq!(made.field("userName"), own);
        let told = crate::support::eventually(std::time::Duration::from_secs(5), async || {
            let path = at(&format!("/events?actor={user}&type=token.created"));
            world.server.get(&path, &admin.token).await.json["pagination"]["total"] == 1
        });
        assert!(told.await);

        let mut seen = String::new();
        for path in [
            "/members?limit=100",
            &format!("/members/{user}"),
            "/api-tokens?all=true&limit=100",
            "/events?limit=100",
            "/pipelines",
            "/pipelines/pats",
            "/pipelines/pats/versions",
            "/pipelines/pats/versions/1",
        ] {
            seen += &world.server.get(&at(path), &admin.token).await.succeeded(200).text;
        }
        let me = world.server.get("/me", token).await.succeeded(200);
        assert_eq!((me.field("name"), me.field("organizationSlug")), (own.to_owned(), slug.to_owned()));
        seen += &me.text;
        assert!(seen.contains(own));
        assert!(!seen.contains(other), "{slug} sees {other}: {seen}");
    }
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_one_organization_does_leaves_the_other_alone(pool: PgPool) {
    let world = World::new(&pool).await;
    let [(user, acme), (_, globex)] = pat(&world).await;

    // A token is for one organization, also where the person is a member of both.
    for path in ["", "/members", "/pipelines", "/api-tokens", "/events", &format!("/members/{user}")] {
        world.server.get(&format!("/organizations/globex{path}"), &acme).await.refused(404, "not_found");
        world.server.get(&format!("/organizations/acme{path}"), &globex).await.refused(404, "not_found");
    }
    let own = world.server.get("/organizations/acme/api-tokens", &acme).await;
    assert_eq!(own.json["pagination"]["total"], 1, "{}", own.text);

    let path = format!("/organizations/globex/members/{user}");
    world
        .server
        .patch(&path, &world.stranger.token, json!({ "name": "X", "role": "viewer" }))
        .await
        .succeeded(200);
    let me = world.server.get("/me", &acme).await;
    assert_eq!((me.field("name"), me.field("role")), ("Acme-Pat".to_owned(), "maintainer".to_owned()));
    world.server.delete(&path, &world.stranger.token).await.succeeded(200);
    let create = json!({ "name": "Still here", "definition": DEFINITION });
    world.server.post("/organizations/acme/pipelines", &acme, create).await.succeeded(201);
    world.server.stop().await;
}

/// How another organization spells an address is that organization's business: reading it back would tell that the
/// person is known elsewhere.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn neither_organization_sees_the_others_spelling(pool: PgPool) {
    let world = World::new(&pool).await;
    let body = |email: &str| json!({ "email": email, "name": "Pat", "role": "viewer" });
    let add = async |slug: &str, token: &str, email: &str| {
        let path = format!("/organizations/{slug}/members");
        let added = world.server.post(&path, token, body(email)).await.succeeded(201);
        let shown = world.server.get(&format!("{path}/{}", added.field("userId")), token).await;
        (added.field("userId"), added.field("email"), shown.field("email"))
    };
    let first = add("acme", &world.owner.token, "Pat@Person.Test").await;
    let second = add("globex", &world.stranger.token, "pat@person.test").await;
    assert_eq!(first.0, second.0);
    assert_eq!((first.1.as_str(), first.2.as_str()), ("Pat@Person.Test", "Pat@Person.Test"));
    assert_eq!((second.1.as_str(), second.2.as_str()), ("pat@person.test", "pat@person.test"));
    world.server.stop().await;
}
