//! Tokens: how one is made, shown and listed, and who sees whose.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::answer::Answer;
use crate::support::eventually;
use crate::world::{World, in_days, now};

const TOKENS: &str = "/organizations/acme/api-tokens";

async fn create_with_key(world: &World, token: &str, key: &str, body: &Value) -> Answer {
    let request = world.server.client.request(Method::POST, format!("{}{TOKENS}", world.server.base));
    let request = request.bearer_auth(token).header("idempotency-key", key).json(body);
    Answer::of(request.send().await.unwrap()).await
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_secret_is_shown_once(pool: PgPool) {
    let world = World::new(&pool).await;
    let owner = &world.owner.token;
    let made = world.server.post(TOKENS, owner, json!({ "name": "laptop" })).await.succeeded(201);
    let (id, secret) = (made.field("id"), made.field("token"));
    assert_eq!(secret.len(), 40, "{secret}");
    let random = secret.strip_prefix("grn_").unwrap();
    assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{secret}");
    assert_eq!(made.field("hint"), secret[..8]);
    assert_eq!(made.headers.get("cache-control").unwrap(), "no-store");
    assert_eq!(world.server.get("/me", &secret).await.json["data"]["token"]["id"], id);

    // Its record is all but the secret, here and everywhere else.
    let mut record = made.json["data"].clone();
    record.as_object_mut().unwrap().remove("token");
    let shown = world.server.get(&format!("{TOKENS}/{id}"), owner).await.succeeded(200);
    assert_eq!(without_last_use(&shown.json["data"]), without_last_use(&record));
    let listed = world.server.get(TOKENS, owner).await.succeeded(200);
    assert_eq!(without_last_use(&listed.json["data"][0]), without_last_use(&record));
    let revoked = world.server.delete(&format!("{TOKENS}/{id}"), owner).await.succeeded(200);
    for answer in [shown, listed, revoked] {
        assert!(!answer.text.contains(random), "{}", answer.text);
        assert!(!answer.text.contains("secret"), "{}", answer.text);
    }
    world.server.stop().await;
}

fn without_last_use(record: &Value) -> Value {
    let mut record = record.clone();
    record["lastUsedAt"] = Value::Null;
    record
}

/// Repeated, a request gets its record again, but not the secret.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_repeated_request_does_not_show_the_secret_again(pool: PgPool) {
    let world = World::new(&pool).await;
    let (owner, body) = (&world.owner.token, json!({ "name": "laptop" }));
    let first = create_with_key(&world, owner, "k-1", &body).await.succeeded(201);
    let second = create_with_key(&world, owner, "k-1", &body).await.succeeded(201);
    let mut expected = first.json.clone();
    expected["data"].as_object_mut().unwrap().remove("token").unwrap();
    assert_eq!(second.json, expected);

    // The key is the user's, not the token's.
    let third = create_with_key(&world, &first.field("token"), "k-1", &body).await.succeeded(201);
    assert_eq!(third.json, expected);
    create_with_key(&world, owner, "k-1", &json!({ "name": "other" }))
        .await
        .refused(422, "idempotency_key_reused");
    // And nobody else's.
    let member = world.member("viewer").await;
    let theirs = create_with_key(&world, &member.token, "k-1", &body).await.succeeded(201);
    assert_ne!(theirs.field("id"), first.field("id"));
    assert_eq!(theirs.field("userId"), member.user);
    assert!(!theirs.field("token").is_empty());
    // A dead token gets no answer, not even an old one.
    let path = format!("{TOKENS}/{}", member.token_id);
    world.server.delete(&path, owner).await.succeeded(200);
    create_with_key(&world, &member.token, "k-1", &body).await.refused(401, "unauthenticated");
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_tokens_fields_are_checked(pool: PgPool) {
    let world = World::new(&pool).await;
    for (body, pointer) in [
        (json!({ "name": "x", "expiresAt": "2001-01-01T00:00:00Z" }), "/expiresAt"),
        (json!({ "name": "x", "expiresAt": "tomorrow" }), "/expiresAt"),
        (json!({ "name": "" }), "/name"),
        (json!({ "name": "x", "kind": "root" }), "/kind"),
        (json!({ "name": "x", "userId": world.stranger.user }), "/userId"),
        (json!({ "name": "x", "role": "owner" }), "/role"),
        (json!({ "name": "x", "organizationId": world.stranger.organization }), "/organizationId"),
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
        let answer = world.server.post(TOKENS, &world.owner.token, body.clone()).await;
        answer.refused(422, "invalid_request");
        assert_eq!(answer.json["errors"][0]["pointer"], pointer, "{body}: {}", answer.text);
    }
    assert_eq!(world.server.get(TOKENS, &world.owner.token).await.json["pagination"]["total"], 1);
    // The defaults.
    for (kind, force, scopes) in [
        ("user", true, json!(["read", "hold", "deploy", "start", "write", "admin"])),
        ("ci", false, json!(["read", "hold", "deploy", "start"])),
        ("agent", false, json!(["read", "hold", "deploy"])),
    ] {
        let made = world.server.post(TOKENS, &world.owner.token, json!({ "name": "x", "kind": kind })).await;
        assert_eq!(made.json["data"]["allowForce"], force, "{}", made.text);
        assert_eq!(made.json["data"]["scopes"], scopes, "{}", made.text);
        assert_eq!(made.json["data"]["pipelines"], Value::Null, "{}", made.text);
        let expiry = made.json["data"]["expiresAt"].as_str().map(|text| text.parse::<Timestamp>().unwrap());
        if kind == "user" {
            assert_eq!(expiry, None);
        } else {
            let days = expiry.unwrap().duration_since(now()).as_hours() / 24;
            assert!((89..=90).contains(&days), "{}", made.text);
        }
        let me = world.server.get("/me", &made.field("token")).await;
        assert_eq!(me.json["data"]["token"]["kind"], kind);
        assert_eq!(me.json["data"]["token"]["scopes"], scopes);
    }
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn others_tokens_are_an_admins_business(pool: PgPool) {
    let world = World::new(&pool).await;
    let owner = &world.owner;
    let nothing = format!("{TOKENS}/tok_{}", uuid::Uuid::now_v7());
    for role in ["viewer", "developer", "maintainer"] {
        let (member, other) = (world.member(role).await, world.member("viewer").await);
        let before = crate::content::fingerprint(&pool).await;
        let all = world.server.get(&format!("{TOKENS}?all=true"), &member.token).await;
        all.refused(403, "forbidden");
        assert_eq!(all.json["requiredRole"], "admin");
        let own = world.server.get(TOKENS, &member.token).await.succeeded(200);
        assert_eq!(own.json["pagination"]["total"], 1, "{}", own.text);
        assert_eq!(own.json["data"][0]["id"], member.token_id);
        // Others' look like not there.
        for id in [&owner.token_id, &other.token_id] {
            let path = format!("{TOKENS}/{id}");
            let (seen, revoked) = (
                world.server.get(&path, &member.token).await,
                world.server.delete(&path, &member.token).await,
            );
            assert_eq!(seen.face(), world.server.get(&nothing, &member.token).await.face());
            assert_eq!(revoked.face(), world.server.delete(&nothing, &member.token).await.face());
            seen.refused(404, "not_found");
            revoked.refused(404, "not_found");
        }
        assert_eq!(crate::content::fingerprint(&pool).await, before);
        world.server.get("/me", &other.token).await.succeeded(200);
    }
    for role in ["admin", "owner"] {
        let (member, other) = (world.member(role).await, world.member("owner").await);
        let all =
            world.server.get(&format!("{TOKENS}?all=true&limit=100"), &member.token).await.succeeded(200);
        assert!(all.text.contains(&owner.token_id) && all.text.contains(&other.token_id), "{}", all.text);
        assert!(!all.text.contains(&world.stranger.token_id), "{}", all.text);
        let own = world.server.get(TOKENS, &member.token).await;
        assert_eq!(own.json["pagination"]["total"], 1, "{}", own.text);
        let path = format!("{TOKENS}/{}", other.token_id);
        world.server.get(&path, &member.token).await.succeeded(200);
        let revoked = world.server.delete(&path, &member.token).await.succeeded(200);
        assert!(revoked.json["data"]["revokedAt"].is_string());
        // Revoking again changes nothing.
        let again = world.server.delete(&path, &member.token).await.succeeded(200);
        assert_eq!(again.json["data"]["revokedAt"], revoked.json["data"]["revokedAt"]);
    }
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_last_use_is_recorded(pool: PgPool) {
    let world = World::new(&pool).await;
    let (used, unused) = (world.member("viewer").await, world.member("viewer").await);
    world.server.get("/me", &used.token).await.succeeded(200);
    let last_use = async |token_id: &str| {
        let path = format!("{TOKENS}/{token_id}");
        world.server.get(&path, &world.owner.token).await.json["data"]["lastUsedAt"].clone()
    };
    let recorded = eventually(Duration::from_secs(10), async || last_use(&used.token_id).await.is_string());
    assert!(recorded.await);
    assert_eq!(last_use(&unused.token_id).await, Value::Null);
    world.server.stop().await;
}
