//! An admin tries to sign in as a person of another organization, or as an owner of the own one.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::fixture::{PASSWORD, SignInFixture};
use crate::support::Caller;
use crate::support::database::TestDatabase;

/// Attack 1: a link for a person who is a member of another organization too.
#[tokio::test]
async fn an_admin_cannot_enroll_a_person_of_another_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let user = fixture.add(&fixture.globex, "pat@person.test", "viewer").await;
    // Adding the address of a person needs no consent.
    assert_eq!(fixture.add(&fixture.acme, "Pat@Person.Test", "viewer").await, user);
    for owner in [&fixture.acme, &fixture.globex] {
        let (status, refused) = fixture.link(owner, &user).await;
        assert_eq!((status.as_u16(), refused["code"].as_str()), (409, Some("already_enrolled")));
    }
    // Also if the other organization only has an owner of that name.
    assert_eq!(fixture.add(&fixture.acme, "owner@globex.test", "viewer").await, fixture.globex.user);
    let (status, refused) = fixture.link(&fixture.acme, &fixture.globex.user).await;
    assert_eq!((status.as_u16(), refused["code"].as_str()), (409, Some("already_enrolled")));
    fixture.end().await;
}

/// Attack 2: a link for an owner of the own organization, by an admin and by another owner.
#[tokio::test]
async fn an_owner_is_not_enrolled_with_a_link() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let admin = fixture.server.member(&fixture.acme, "acme", "admin").await;
    let second = fixture.add(&fixture.acme, "second@acme.test", "owner").await;
    for (by, user) in [(&admin, &fixture.acme.user), (&admin, &second), (&fixture.acme, &second)] {
        let (status, refused) = fixture.link(by, user).await;
        assert_eq!((status.as_u16(), refused["code"].as_str()), (403, Some("forbidden")));
    }
    fixture.end().await;
}

/// Attack 3: a link for a person who has signed in before, to reset the account.
#[tokio::test]
async fn an_admin_cannot_reset_a_person() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (user, _) = fixture.person("ada@acme.test", "developer").await;
    let (status, refused) = fixture.link(&fixture.acme, &user).await;
    assert_eq!((status.as_u16(), refused["code"].as_str()), (409, Some("already_enrolled")));
    fixture.end().await;
}

/// Attack 4: a link for a user of another organization through the own path. Not there and not yours are the same.
#[tokio::test]
async fn a_person_who_is_no_member_does_not_exist() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let stranger = fixture.add(&fixture.globex, "pat@person.test", "viewer").await;
    let unknown = format!("usr_{}", uuid::Uuid::now_v7());
    let removed = fixture.add(&fixture.acme, "gone@acme.test", "viewer").await;
    let path = format!("/organizations/acme/members/{removed}");
    fixture.server.json(Method::DELETE, &path, &fixture.acme.token, None).await;
    for user in [&stranger, &unknown, &removed] {
        let (status, refused) = fixture.link(&fixture.acme, user).await;
        assert_eq!((status.as_u16(), refused["code"].as_str()), (404, Some("not_found")));
    }
    fixture.end().await;
}

/// Attack 5: a token makes a link for its own user, to get all scopes and to outlive its revocation.
#[tokio::test]
async fn a_token_cannot_become_a_browser_session() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let admin = fixture.server.member(&fixture.acme, "acme", "admin").await;
    let body = json!({ "name": "narrow", "scopes": ["admin"] });
    let path = "/organizations/acme/api-tokens";
    let (_, made) = fixture.server.json(Method::POST, path, &admin.token, Some(body)).await;
    let narrow = Caller { token: made["data"]["token"].as_str().unwrap().to_owned(), ..admin.clone() };
    for caller in [&narrow, &admin] {
        let (status, refused) = fixture.link(caller, &admin.user).await;
        assert_eq!((status.as_u16(), refused["code"].as_str()), (403, Some("forbidden")));
    }
    fixture.end().await;
}

/// Attack 6: the link is made first, and the person joins another organization before it is used.
#[tokio::test]
async fn a_link_is_void_when_the_person_joins_another_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let user = fixture.add(&fixture.acme, "pat@person.test", "viewer").await;
    let code = fixture.code(&fixture.acme, &user).await;
    fixture.add(&fixture.globex, "pat@person.test", "admin").await;
    assert_eq!(fixture.use_link(&code).await.status(), StatusCode::UNAUTHORIZED);
    fixture.end().await;
}

/// Attacks 7 and 8: the person becomes an owner, or the admin loses the role, before the link is used.
#[tokio::test]
async fn the_right_to_enroll_is_checked_when_the_link_is_used() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let admin = fixture.server.member(&fixture.acme, "acme", "admin").await;
    let promoted = fixture.add(&fixture.acme, "promoted@acme.test", "viewer").await;
    let other = fixture.add(&fixture.acme, "other@acme.test", "viewer").await;
    let codes = [fixture.code(&admin, &promoted).await, fixture.code(&admin, &other).await];
    for (user, role) in [(&promoted, "owner"), (&admin.user, "maintainer")] {
        let path = format!("/organizations/acme/members/{user}");
        let body = Some(json!({ "role": role }));
        let (status, changed) = fixture.server.json(Method::PATCH, &path, &fixture.acme.token, body).await;
        assert_eq!(status, StatusCode::OK, "{changed}");
    }
    for code in codes {
        assert_eq!(fixture.use_link(&code).await.status(), StatusCode::UNAUTHORIZED);
    }
    fixture.end().await;
}

/// Attack 9: an admin enrolls an address, waits until another organization adds it, and signs in there.
#[tokio::test]
async fn an_admin_vouches_for_no_other_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (user, browser) = fixture.person("pat@person.test", "viewer").await;
    fixture.set_password(&browser, PASSWORD).await;
    assert_eq!(fixture.add(&fixture.globex, "pat@person.test", "owner").await, user);
    let again = fixture.sign_in("pat@person.test", PASSWORD).await;
    let again = crate::fixture::Browser::with_cookie(&crate::fixture::session_cookie(&again).unwrap());
    for browser in [&browser, &again] {
        let me: serde_json::Value =
            fixture.send(browser, Method::GET, "/me", None).await.json().await.unwrap();
        let organizations = me["data"]["organizations"].as_array().unwrap();
        assert_eq!(organizations.len(), 1, "{me}");
        assert_eq!(organizations[0]["slug"], "acme");
        for path in ["", "/members", "/pipelines", "/me", "/events/stream"] {
            let path = format!("/organizations/globex{path}");
            assert_eq!(fixture.status(browser, Method::GET, &path, None).await.0, 404, "{path}");
        }
        let body = json!({ "name": "X", "definition": crate::support::DEFINITION });
        let path = "/organizations/globex/pipelines";
        assert_eq!(fixture.status(browser, Method::POST, path, Some(body)).await.0, 404);
    }
    // The operator's link opens both organizations, and the admin's password and sessions are void.
    let code = fixture.operator_code("pat@person.test").await;
    let own = fixture.signed_in_with(&code).await;
    let globex = "/organizations/globex/me";
    assert_eq!(fixture.status(&own, Method::GET, globex, None).await.0, 200);
    fixture.is_signed_out(&browser).await;
    let old = fixture.sign_in("pat@person.test", PASSWORD).await;
    assert_eq!(old.status(), StatusCode::UNAUTHORIZED);
    fixture.end().await;
}

/// Attack 10: members without the role, and tokens without the scope, make links.
#[tokio::test]
async fn only_admins_make_links() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let user = fixture.add(&fixture.acme, "ada@acme.test", "viewer").await;
    for role in ["viewer", "developer", "maintainer"] {
        let member = fixture.server.member(&fixture.acme, "acme", role).await;
        assert_eq!(fixture.link(&member, &user).await.0, StatusCode::FORBIDDEN, "{role}");
    }
    let (status, _) = fixture.link(&fixture.globex, &user).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    fixture.end().await;
}

/// The event names who made the link and for whom, and contains no secret.
#[tokio::test]
async fn a_link_is_an_audit_event_without_its_code() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let user = fixture.add(&fixture.acme, "ada@acme.test", "viewer").await;
    let code = fixture.code(&fixture.acme, &user).await;
    let path = "/organizations/acme/events?type=member.sign_in_link_created";
    let mut text = String::new();
    let recorded = crate::support::eventually(std::time::Duration::from_secs(5), async || {
        let page = fixture.server.json(Method::GET, path, &fixture.acme.token, None).await.1;
        page["pagination"]["total"] == 1
    });
    assert!(recorded.await);
    for path in ["/organizations/acme/events?limit=100", "/organizations/acme/members"] {
        text += &fixture.server.json(Method::GET, path, &fixture.acme.token, None).await.1.to_string();
    }
    assert!(text.contains(&user) && !text.contains(&code));
    fixture.end().await;
}
