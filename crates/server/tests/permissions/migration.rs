//! Migration of tokens from before tokens had scopes.

use greenroom_store::MIGRATOR;
use serde_json::{Value, json};

use crate::fixture::PermissionFixture;
use crate::support::database::TestDatabase;

/// The last version in which tokens had no scopes.
const VERSION_WITHOUT_SCOPES: i64 = 12;

#[tokio::test]
async fn tokens_keep_their_kind_and_get_its_default_scopes() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let mut ids = Vec::new();
    for (name, kind) in
        [("laptop", "user"), ("endless", "ci"), ("brief", "agent"), ("revoked", "ci"), ("expired", "agent")]
    {
        let body = json!({ "name": name, "kind": kind, "expiresAt": null });
        let made = fixture.server.post("/organizations/acme/api-tokens", &fixture.owner.token, body).await;
        ids.push(made.succeeded(201).field("id"));
    }
    let path = format!("/organizations/acme/api-tokens/{}", ids[3]);
    fixture.server.delete(&path, &fixture.owner.token).await.succeeded(200);
    fixture.server.stop().await;

    MIGRATOR.undo(&pool, VERSION_WITHOUT_SCOPES).await.unwrap();
    for change in [
        "update api_tokens set expires_at = null where name in ('endless', 'revoked')",
        "update api_tokens set expires_at = clock_timestamp() - interval '1 day' where name = 'expired'",
        "delete from event_intake",
    ] {
        sqlx::query(change).execute(&pool).await.unwrap();
    }
    MIGRATOR.run(&pool).await.unwrap();

    let rows: Vec<(String, String, Vec<String>, Option<f64>)> = sqlx::query_as(
        "select name, kind, scopes, extract(epoch from expires_at - clock_timestamp())::float8 / 86400
         from api_tokens where name <> 'test'",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(rows.len(), 5);
    for (name, kind, scopes, days) in rows {
        let expected = match kind.as_str() {
            "user" => "read hold deploy start write admin",
            "ci" => "read hold deploy start",
            _ => "read hold deploy",
        };
        assert_eq!(scopes.join(" "), expected, "{name}");
        match name.as_str() {
            "laptop" => assert_eq!(days, None),
            "brief" => assert!(days.is_some_and(|days| days < 91.0), "{days:?}"),
            "expired" => assert!(days.is_some_and(|days| days < 0.0), "{days:?}"),
            _ => assert!(days.is_some_and(|days| (365.9..=366.0).contains(&days)), "{name}: {days:?}"),
        }
    }

    // An event lists once the valid tokens that lose rights.
    let events: Vec<(String, Value)> =
        sqlx::query_as("select category, data from event_intake where type = 'token.scopes_assigned'")
            .fetch_all(&pool)
            .await
            .unwrap();
    let [(category, data)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((category.as_str(), &data["actor"]["kind"]), ("audit", &json!("system")));
    let list: Vec<_> = data["after"]["tokens"].as_array().unwrap().iter().collect();
    let names: Vec<_> = list.iter().map(|token| (&token["name"], &token["expiryAssigned"])).collect();
    assert_eq!(names, [(&json!("endless"), &json!(true)), (&json!("brief"), &json!(false))]);
    assert_eq!(list[0]["tokenId"], ids[1]);
    assert_eq!(list[1]["scopes"], json!(["read", "hold", "deploy"]));
}

/// While both versions run, the previous one creates tokens without scopes.
#[tokio::test]
async fn a_token_created_by_the_previous_version_gets_the_defaults() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let scopes: Vec<String> = sqlx::query_scalar(
        "insert into api_tokens (organization_id, id, user_id, name, kind, allow_force, secret_hash, hint)
         select organization_id, gen_random_uuid(), user_id, 'old', 'agent', false, sha256('old'), 'grn_'
         from memberships limit 1 returning scopes",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(scopes, ["read", "hold", "deploy"]);
    let endless: bool = sqlx::query_scalar("select expires_at is null from api_tokens where name = 'old'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(!endless);
    fixture.server.stop().await;
}
