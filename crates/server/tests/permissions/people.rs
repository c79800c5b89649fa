//! One person in two organizations: one user with two names, isolated from each other.

use greenroom_app::token::new_secret;
use greenroom_domain::id::TokenId;
use greenroom_domain::text::{Email, Name};
use greenroom_domain::token_grant::TokenGrant;
use greenroom_store::system::bootstrap::NewToken;
use serde_json::json;
use uuid::Uuid;

use crate::fixture::PermissionFixture;
use crate::support::DEFINITION;
use crate::support::database::TestDatabase;

const EMAIL: &str = "pat@person.test";

/// Adds a person to both organizations under different names. Returns the ids and tokens of the user.
async fn pat(fixture: &PermissionFixture) -> [(String, String); 2] {
    let mut memberships = Vec::new();
    for (slug, name, admin) in
        [("acme", "Acme-Pat", &fixture.owner), ("globex", "Globex-Pat", &fixture.stranger)]
    {
        let body = json!({ "email": EMAIL, "name": name, "role": "maintainer" });
        let added = fixture.server.post(&format!("/organizations/{slug}/members"), &admin.token, body).await;
        let added = added.succeeded(201);
        let (secret, name) = (new_secret(), Name::new("laptop").unwrap());
        let token = NewToken {
            id: TokenId::from(Uuid::now_v7()),
            secret: &secret,
            name: &name,
            grant: &TokenGrant::of_user(),
        };
        let (slug, email) = (slug.parse().unwrap(), Email::new(EMAIL).unwrap());
        fixture.server.server.app.store.create_token_for(&slug, &email, &token).await.unwrap().unwrap();
        memberships.push((added.field("userId"), secret.reveal().to_owned()));
    }
    memberships.try_into().unwrap()
}

#[tokio::test]
async fn neither_organization_sees_the_others_name() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let [(user, acme), (same, globex)] = pat(&fixture).await;
    assert_eq!(user, same);

    for (slug, own, other, admin, token) in [
        ("acme", "Acme-Pat", "Globex-Pat", &fixture.owner, &acme),
        ("globex", "Globex-Pat", "Acme-Pat", &fixture.stranger, &globex),
    ] {
        let at = |path: &str| format!("/organizations/{slug}{path}");
        // Creates records with the name: events, tokens, versions.
        let body = json!({ "name": "Pats", "definition": DEFINITION });
        fixture.server.post(&at("/pipelines"), token, body).await.succeeded(201);
        let made =
            fixture.server.post(&at("/api-tokens"), token, json!({ "name": "more" })).await.succeeded(201);
        assert_eq!(made.field("userName"), own);
        let recorded = crate::support::eventually(std::time::Duration::from_secs(5), async || {
            let path = at(&format!("/events?actor={user}&type=token.created"));
            fixture.server.get(&path, &admin.token).await.json["pagination"]["total"] == 1
        });
        assert!(recorded.await);

        let mut visible = String::new();
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
            visible += &fixture.server.get(&at(path), &admin.token).await.succeeded(200).text;
        }
        let me = fixture.server.get("/me", token).await.succeeded(200);
        assert_eq!((me.field("name"), me.field("organizationSlug")), (own.to_owned(), slug.to_owned()));
        visible += &me.text;
        assert!(visible.contains(own));
        assert!(!visible.contains(other), "{slug} sees {other}: {visible}");
    }
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_change_in_one_organization_does_not_affect_the_other() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let [(user, acme), (_, globex)] = pat(&fixture).await;

    // A token is valid for one organization, also if the person is a member of both.
    for path in ["", "/members", "/pipelines", "/api-tokens", "/events", &format!("/members/{user}")] {
        fixture.server.get(&format!("/organizations/globex{path}"), &acme).await.refused(404, "not_found");
        fixture.server.get(&format!("/organizations/acme{path}"), &globex).await.refused(404, "not_found");
    }
    let own = fixture.server.get("/organizations/acme/api-tokens", &acme).await;
    assert_eq!(own.json["pagination"]["total"], 1, "{}", own.text);

    let path = format!("/organizations/globex/members/{user}");
    fixture
        .server
        .patch(&path, &fixture.stranger.token, json!({ "name": "X", "role": "viewer" }))
        .await
        .succeeded(200);
    let me = fixture.server.get("/me", &acme).await;
    assert_eq!((me.field("name"), me.field("role")), ("Acme-Pat".to_owned(), "maintainer".to_owned()));
    fixture.server.delete(&path, &fixture.stranger.token).await.succeeded(200);
    let create = json!({ "name": "Still here", "definition": DEFINITION });
    fixture.server.post("/organizations/acme/pipelines", &acme, create).await.succeeded(201);
    fixture.server.stop().await;
}

/// Returning the spelling of another organization would disclose that the person is a member there.
#[tokio::test]
async fn neither_organization_sees_the_others_spelling() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let body = |email: &str| json!({ "email": email, "name": "Pat", "role": "viewer" });
    let add = async |slug: &str, token: &str, email: &str| {
        let path = format!("/organizations/{slug}/members");
        let added = fixture.server.post(&path, token, body(email)).await.succeeded(201);
        let record = fixture.server.get(&format!("{path}/{}", added.field("userId")), token).await;
        (added.field("userId"), added.field("email"), record.field("email"))
    };
    let first = add("acme", &fixture.owner.token, "Pat@Person.Test").await;
    let second = add("globex", &fixture.stranger.token, "pat@person.test").await;
    assert_eq!(first.0, second.0);
    assert_eq!((first.1.as_str(), first.2.as_str()), ("Pat@Person.Test", "Pat@Person.Test"));
    assert_eq!((second.1.as_str(), second.2.as_str()), ("pat@person.test", "pat@person.test"));
    fixture.server.stop().await;
}
