//! Tokens: creation, records and lists, and who can see which.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::changes::Changes;
use crate::fixture::{PermissionFixture, in_days, now};
use crate::response::TestResponse;
use crate::support::database::TestDatabase;
use crate::support::eventually;

const TOKENS: &str = "/organizations/acme/api-tokens";

async fn create_with_key(fixture: &PermissionFixture, token: &str, key: &str, body: &Value) -> TestResponse {
    let request = fixture.server.client.request(Method::POST, format!("{}{TOKENS}", fixture.server.base));
    let request = request.bearer_auth(token).header("idempotency-key", key).json(body);
    TestResponse::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_secret_is_returned_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let owner = &fixture.owner.token;
    let made = fixture.server.post(TOKENS, owner, json!({ "name": "laptop" })).await.succeeded(201);
    let (id, secret) = (made.field("id"), made.field("token"));
    assert_eq!(secret.len(), 40, "{secret}");
    let random = secret.strip_prefix("grn_").unwrap();
    assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{secret}");
    assert_eq!(made.field("hint"), secret[..8]);
    assert_eq!(made.headers.get("cache-control").unwrap(), "no-store");
    assert_eq!(fixture.server.get("/me", &secret).await.json["data"]["token"]["id"], id);

    // No other record contains the secret.
    let mut record = made.json["data"].clone();
    record.as_object_mut().unwrap().remove("token");
    let read = fixture.server.get(&format!("{TOKENS}/{id}"), owner).await.succeeded(200);
    assert_eq!(without_last_use(&read.json["data"]), without_last_use(&record));
    let list = fixture.server.get(TOKENS, owner).await.succeeded(200);
    assert_eq!(without_last_use(&list.json["data"][0]), without_last_use(&record));
    let revoked = fixture.server.delete(&format!("{TOKENS}/{id}"), owner).await.succeeded(200);
    for response in [read, list, revoked] {
        assert!(!response.text.contains(random), "{}", response.text);
        assert!(!response.text.contains("secret"), "{}", response.text);
    }
    fixture.server.stop().await;
}

fn without_last_use(record: &Value) -> Value {
    let mut record = record.clone();
    record["lastUsedAt"] = Value::Null;
    record
}

/// A repeated request returns the record again, but not the secret.
#[tokio::test]
async fn a_repeated_request_does_not_show_the_secret_again() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (owner, body) = (&fixture.owner.token, json!({ "name": "laptop" }));
    let first = create_with_key(&fixture, owner, "k-1", &body).await.succeeded(201);
    let second = create_with_key(&fixture, owner, "k-1", &body).await.succeeded(201);
    let mut expected = first.json.clone();
    expected["data"].as_object_mut().unwrap().remove("token").unwrap();
    assert_eq!(second.json, expected);

    // The key belongs to the user, not to the token.
    let third = create_with_key(&fixture, &first.field("token"), "k-1", &body).await.succeeded(201);
    assert_eq!(third.json, expected);
    create_with_key(&fixture, owner, "k-1", &json!({ "name": "other" }))
        .await
        .refused(422, "idempotency_key_reused");
    // Another user has other keys.
    let member = fixture.member("viewer").await;
    let theirs = create_with_key(&fixture, &member.token, "k-1", &body).await.succeeded(201);
    assert_ne!(theirs.field("id"), first.field("id"));
    assert_eq!(theirs.field("userId"), member.user);
    assert!(!theirs.field("token").is_empty());
    // A revoked token does not get the stored response.
    let path = format!("{TOKENS}/{}", member.token_id);
    fixture.server.delete(&path, owner).await.succeeded(200);
    create_with_key(&fixture, &member.token, "k-1", &body).await.refused(401, "unauthenticated");
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_tokens_fields_are_checked() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    for (body, pointer) in [
        (json!({ "name": "x", "expiresAt": "2001-01-01T00:00:00Z" }), "/expiresAt"),
        (json!({ "name": "x", "expiresAt": "tomorrow" }), "/expiresAt"),
        (json!({ "name": "" }), "/name"),
        (json!({ "name": "x", "kind": "root" }), "/kind"),
        (json!({ "name": "x", "userId": fixture.stranger.user }), "/userId"),
        (json!({ "name": "x", "role": "owner" }), "/role"),
        (json!({ "name": "x", "organizationId": fixture.stranger.organization }), "/organizationId"),
        (json!({ "name": "x", "scopes": [] }), "/scopes"),
        (json!({ "name": "x", "scopes": ["root"] }), "/scopes/0"),
        (json!({ "name": "x", "kind": "ci", "scopes": ["read", "admin"] }), "/scopes"),
        (json!({ "name": "x", "kind": "agent", "scopes": ["admin"] }), "/scopes"),
        (json!({ "name": "x", "pipelines": [] }), "/pipelines"),
        (json!({ "name": "x", "pipelines": ["shop"] }), "/pipelines/0"),
        (json!({ "name": "x", "pipelines": [format!("pip_{}", uuid::Uuid::now_v7())] }), "/pipelines"),
        (json!({ "name": "x", "kind": "ci", "expiresAt": in_days(367) }), "/expiresAt"),
        (json!({ "name": "x", "kind": "agent", "expiresAt": "2999-01-01T00:00:00Z" }), "/expiresAt"),
        (json!({}), "/name"),
    ] {
        let response = fixture.server.post(TOKENS, &fixture.owner.token, body.clone()).await;
        response.refused(422, "invalid_request");
        assert_eq!(response.json["errors"][0]["pointer"], pointer, "{body}: {}", response.text);
    }
    assert_eq!(fixture.server.get(TOKENS, &fixture.owner.token).await.json["pagination"]["total"], 1);
    // The defaults.
    for (kind, force, scopes) in [
        ("user", true, json!(["read", "hold", "deploy", "start", "write", "admin"])),
        ("ci", false, json!(["read", "hold", "deploy", "start"])),
        ("agent", false, json!(["read", "hold", "deploy"])),
    ] {
        let made =
            fixture.server.post(TOKENS, &fixture.owner.token, json!({ "name": "x", "kind": kind })).await;
        assert_eq!(made.json["data"]["allowForce"], force, "{}", made.text);
        assert_eq!(made.json["data"]["scopes"], scopes, "{}", made.text);
        assert_eq!(made.json["data"]["pipelines"], Value::Null, "{}", made.text);
        let expiry = made.field("expiresAt").parse::<Timestamp>().unwrap();
        let days = expiry.duration_since(now()).as_hours() / 24;
        assert!((89..=90).contains(&days), "{}", made.text);
        let body = json!({ "name": "x", "kind": kind, "expiresAt": null });
        let unlimited = fixture.server.post(TOKENS, &fixture.owner.token, body).await.succeeded(201);
        assert_eq!(unlimited.json["data"]["expiresAt"].is_null(), kind == "user", "{}", unlimited.text);
        let me = fixture.server.get("/me", &made.field("token")).await;
        assert_eq!(me.json["data"]["token"]["kind"], kind);
        assert_eq!(me.json["data"]["token"]["scopes"], scopes);
    }
    fixture.server.stop().await;
}

#[tokio::test]
async fn only_admins_see_and_revoke_tokens_of_others() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let owner = &fixture.owner;
    let nothing = format!("{TOKENS}/tok_{}", uuid::Uuid::now_v7());
    for role in ["viewer", "developer", "maintainer"] {
        let (member, other) = (fixture.member(role).await, fixture.member("viewer").await);
        let changes = Changes::watch(&pool).await;
        let all = fixture.server.get(&format!("{TOKENS}?all=true"), &member.token).await;
        all.refused(403, "forbidden");
        assert_eq!(all.json["requiredRole"], "admin");
        let own = fixture.server.get(TOKENS, &member.token).await.succeeded(200);
        assert_eq!(own.json["pagination"]["total"], 1, "{}", own.text);
        assert_eq!(own.json["data"][0]["id"], member.token_id);
        // Tokens of others are not found.
        for id in [&owner.token_id, &other.token_id] {
            let path = format!("{TOKENS}/{id}");
            let (read, revoked) = (
                fixture.server.get(&path, &member.token).await,
                fixture.server.delete(&path, &member.token).await,
            );
            assert_eq!(read.comparable(), fixture.server.get(&nothing, &member.token).await.comparable());
            assert_eq!(
                revoked.comparable(),
                fixture.server.delete(&nothing, &member.token).await.comparable()
            );
            read.refused(404, "not_found");
            revoked.refused(404, "not_found");
        }
        changes.assert_none().await;
        fixture.server.get("/me", &other.token).await.succeeded(200);
    }
    for role in ["admin", "owner"] {
        let (member, other) = (fixture.member(role).await, fixture.member("owner").await);
        let all =
            fixture.server.get(&format!("{TOKENS}?all=true&limit=100"), &member.token).await.succeeded(200);
        assert!(all.text.contains(&owner.token_id) && all.text.contains(&other.token_id), "{}", all.text);
        assert!(!all.text.contains(&fixture.stranger.token_id), "{}", all.text);
        let own = fixture.server.get(TOKENS, &member.token).await;
        assert_eq!(own.json["pagination"]["total"], 1, "{}", own.text);
        let path = format!("{TOKENS}/{}", other.token_id);
        fixture.server.get(&path, &member.token).await.succeeded(200);
        let revoked = fixture.server.delete(&path, &member.token).await.succeeded(200);
        assert!(revoked.json["data"]["revokedAt"].is_string());
        // Revoking again changes nothing.
        let again = fixture.server.delete(&path, &member.token).await.succeeded(200);
        assert_eq!(again.json["data"]["revokedAt"], revoked.json["data"]["revokedAt"]);
    }
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_last_use_is_recorded() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (used, unused) = (fixture.member("viewer").await, fixture.member("viewer").await);
    fixture.server.get("/me", &used.token).await.succeeded(200);
    let last_use = async |token_id: &str| {
        let path = format!("{TOKENS}/{token_id}");
        fixture.server.get(&path, &fixture.owner.token).await.json["data"]["lastUsedAt"].clone()
    };
    let recorded = eventually(Duration::from_secs(10), async || last_use(&used.token_id).await.is_string());
    assert!(recorded.await);
    assert_eq!(last_use(&unused.token_id).await, Value::Null);
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_person_has_a_hundred_valid_tokens() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (viewer, other) = (fixture.member("viewer").await, fixture.member("viewer").await);
    let make = async |token: &str| fixture.server.post(TOKENS, token, json!({ "name": "x" })).await;
    // The member's own token is the first one.
    let oldest = make(&viewer.token).await.succeeded(201).field("id");
    for _ in 0..98 {
        make(&viewer.token).await.succeeded(201);
    }
    // Without this, the tokens differ by milliseconds only.
    let idle = "update api_tokens set created_at = created_at - interval '1 day' where 'tok_' || id = $1";
    sqlx::query(idle).bind(&oldest).execute(&pool).await.unwrap();
    // Tokens and browsers of the person have the same bound.
    for caller in [viewer.token.clone(), fixture.server.browser(&viewer.user).await] {
        let refused = make(&caller).await;
        refused.refused(409, "invalid_state");
        assert_eq!((&refused.json["limit"], &refused.json["tokenId"]), (&json!(100), &json!(oldest)));
        assert!(refused.json["detail"].as_str().unwrap().contains(&oldest), "{}", refused.text);
    }
    make(&other.token).await.succeeded(201);
    let path = format!("{TOKENS}/{oldest}");
    fixture.server.delete(&path, &viewer.token).await.succeeded(200);
    // Concurrent requests do not exceed it together.
    let (one, two) = tokio::join!(make(&viewer.token), make(&viewer.token));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    let expire = "update api_tokens set expires_at = clock_timestamp() where 'tok_' || id = $1";
    let made = if one.status == 201 { one } else { two };
    sqlx::query(expire).bind(made.field("id")).execute(&pool).await.unwrap();
    make(&viewer.token).await.succeeded(201);
    fixture.server.stop().await;
}
