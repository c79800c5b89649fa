//! A token that is created with another token: it cannot outlive or exceed its parent, and is revoked with
//! it.

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::changes::Changes;
use crate::fixture::{PermissionFixture, in_days};
use crate::response::TestResponse;
use crate::row_locks::until_blocked;
use crate::support::database::TestDatabase;

const TOKENS: &str = "/organizations/acme/api-tokens";

async fn make(fixture: &PermissionFixture, parent: &str, body: Value) -> TestResponse {
    fixture.server.post(TOKENS, parent, body).await
}

#[tokio::test]
async fn a_child_cannot_exceed_its_parent() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let parent =
        async |body: Value| make(&fixture, &fixture.owner.token, body).await.succeeded(201).field("token");
    let (sooner, expiry, later) = (in_days(10), in_days(20), in_days(30));
    // Tokens of programs can create tokens if they have the scope for it.
    let program =
        |kind: &str| json!({ "name": kind, "kind": kind, "scopes": ["read", "write"], "expiresAt": expiry });
    let user = parent(json!({ "name": "user", "expiresAt": later })).await;
    let mild = parent(json!({ "name": "mild", "allowForce": false, "expiresAt": later })).await;
    let ci = parent(program("ci")).await;
    let mut strong = program("ci");
    strong["allowForce"] = json!(true);
    let strong_ci = parent(strong).await;
    let agent = parent(program("agent")).await;
    let brief = parent(json!({ "name": "brief", "expiresAt": expiry })).await;
    let narrow = json!({ "name": "narrow", "scopes": ["read", "hold", "write"], "expiresAt": later });
    let narrow = parent(narrow).await;
    let first = fixture.server.pipeline(&fixture.owner, "first").await;
    let second = fixture.server.pipeline(&fixture.owner, "second").await;

    let all = json!(["read", "hold", "deploy", "start", "write", "admin"]);
    let read = json!(["read"]);
    let of_parent = json!(later);
    let no = None;
    let yes = |kind: &'static str, force: bool, expires_at: Value, scopes: &Value| {
        Some(json!({ "kind": kind, "allowForce": force, "expiresAt": expires_at, "scopes": scopes }))
    };
    for (parent, body_fields, outcome) in [
        // A token of a person can create any token.
        (&user, json!({}), yes("user", true, of_parent.clone(), &all)),
        (
            &user,
            json!({ "kind": "ci", "allowForce": true, "expiresAt": expiry, "scopes": ["write"] }),
            yes("ci", true, json!(expiry), &json!(["write"])),
        ),
        (&user, json!({ "expiresAt": expiry }), yes("user", true, json!(expiry), &all)),
        (&user, json!({ "scopes": ["read", "read"] }), yes("user", true, of_parent.clone(), &read)),
        // A token without force cannot create one with it, and the default follows the parent.
        (&mild, json!({}), yes("user", false, of_parent.clone(), &all)),
        (&mild, json!({ "allowForce": true }), no.clone()),
        (&mild, json!({ "kind": "ci", "allowForce": true }), no.clone()),
        // A token of a program cannot create one of a person; the default is its own kind.
        (&ci, json!({}), yes("ci", false, json!(expiry), &read)),
        (&agent, json!({}), yes("agent", false, json!(expiry), &read)),
        (&ci, json!({ "kind": "user" }), no.clone()),
        (&ci, json!({ "kind": "user", "allowForce": false }), no.clone()),
        (&ci, json!({ "kind": "agent" }), yes("agent", false, json!(expiry), &read)),
        (&ci, json!({ "kind": "ci", "allowForce": true }), no.clone()),
        (&strong_ci, json!({ "kind": "ci" }), yes("ci", false, json!(expiry), &read)),
        (&strong_ci, json!({ "kind": "ci", "allowForce": true }), yes("ci", true, json!(expiry), &read)),
        (&strong_ci, json!({ "kind": "user" }), no.clone()),
        (&agent, json!({ "kind": "user" }), no.clone()),
        (&agent, json!({ "kind": "ci" }), yes("ci", false, json!(expiry), &read)),
        // A child cannot outlive its parent.
        (&brief, json!({}), yes("user", true, json!(expiry), &all)),
        (&brief, json!({ "kind": "agent", "scopes": ["read"] }), yes("agent", false, json!(expiry), &read)),
        (&brief, json!({ "expiresAt": sooner }), yes("user", true, json!(sooner), &all)),
        (&brief, json!({ "expiresAt": expiry }), yes("user", true, json!(expiry), &all)),
        (&brief, json!({ "expiresAt": later }), no.clone()),
        (&brief, json!({ "expiresAt": null }), no.clone()),
        (&agent, json!({ "kind": "agent", "expiresAt": later }), no.clone()),
        // A child cannot have a scope that its parent lacks.
        (&narrow, json!({}), yes("user", true, of_parent.clone(), &json!(["read", "hold", "write"]))),
        (&narrow, json!({ "scopes": ["deploy"] }), no.clone()),
        (&narrow, json!({ "scopes": ["read", "admin"] }), no.clone()),
        (&agent, json!({ "scopes": ["write", "hold"] }), no.clone()),
    ] {
        let mut body = body_fields.clone();
        body["name"] = json!("child");
        let changes = Changes::watch(&pool).await;
        let response = make(&fixture, parent, body).await;
        match outcome {
            None => {
                response.refused(403, "token_exceeds_parent");
                assert_eq!(changes.list().await, Vec::<String>::new(), "{body_fields}");
            }
            Some(expected) => {
                let data = &response.clone().succeeded(201).json["data"];
                // Both in its record and as the server applies it.
                let me = fixture.server.get("/me", &response.field("token")).await;
                for (field, value) in expected.as_object().unwrap() {
                    assert_eq!(
                        (&data[field], &me.json["data"]["token"][field]),
                        (value, value),
                        "{body_fields}"
                    );
                }
            }
        }
    }

    // A child cannot access other pipelines than its parent.
    let limited = parent(json!({ "name": "limited", "pipelines": [first] })).await;
    let child = make(&fixture, &limited, json!({ "name": "child" })).await.succeeded(201);
    assert_eq!(child.json["data"]["pipelines"], json!([first]));
    let other = json!({ "name": "child", "pipelines": [first, second] });
    make(&fixture, &limited, other).await.refused(403, "token_exceeds_parent");
    // The response does not disclose whether the pipeline exists.
    let nothing = json!({ "name": "child", "pipelines": [format!("pip_{}", uuid::Uuid::now_v7())] });
    make(&fixture, &limited, nothing).await.refused(403, "token_exceeds_parent");
    fixture.server.stop().await;
}

/// A child belongs to the caller, regardless of the owner of the parent, and has the rights of that user.
#[tokio::test]
async fn a_child_belongs_to_the_caller() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let member = fixture.member("developer").await;
    let child = make(&fixture, &member.token, json!({ "name": "child" })).await.succeeded(201);
    assert_eq!(child.field("userId"), member.user);
    let me = fixture.server.get("/me", &child.field("token")).await;
    assert_eq!((me.field("userId"), me.field("role")), (member.user, "developer".to_owned()));
    fixture.server.stop().await;
}

#[tokio::test]
async fn revoking_a_token_revokes_its_descendants() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let parent = make(&fixture, &fixture.owner.token, json!({ "name": "parent" })).await.succeeded(201);
    let child = make(&fixture, &parent.field("token"), json!({ "name": "child" })).await.succeeded(201);
    let sibling = make(&fixture, &parent.field("token"), json!({ "name": "sibling" })).await.succeeded(201);
    let grandchild =
        make(&fixture, &child.field("token"), json!({ "name": "grandchild" })).await.succeeded(201);
    let create = json!({ "name": "more" });

    // Revoking a child does not affect its parent and its siblings.
    let path = |token: &TestResponse| format!("{TOKENS}/{}", token.field("id"));
    fixture.server.delete(&path(&sibling), &sibling.field("token")).await.succeeded(200);
    make(&fixture, &sibling.field("token"), create.clone()).await.refused(401, "unauthenticated");
    for alive in [&parent, &child, &grandchild] {
        make(&fixture, &alive.field("token"), create.clone()).await.succeeded(201);
    }
    fixture.server.delete(&path(&parent), &fixture.owner.token).await.succeeded(200);
    for dead in [&parent, &child, &grandchild] {
        make(&fixture, &dead.field("token"), create.clone()).await.refused(401, "unauthenticated");
        let record = fixture.server.get(&path(dead), &fixture.owner.token).await;
        assert!(record.json["data"]["revokedAt"].is_string(), "{}", record.text);
    }
    make(&fixture, &fixture.owner.token, create).await.succeeded(201);
    fixture.server.stop().await;
}

/// Delays the insertion of a token named `slow`: its parent is locked by then, and the new token does not
/// exist yet.
async fn slow_down(pool: &PgPool) {
    sqlx::raw_sql(
        "create function slow_down() returns trigger language plpgsql as
             $$ begin if new.name = 'slow' then perform pg_sleep(0.7); end if; return new; end $$;
         create trigger slow_down before insert on api_tokens for each row execute function slow_down();",
    )
    .execute(pool)
    .await
    .unwrap();
}

/// Race: a token is revoked while its child creates a grandchild.
#[tokio::test]
async fn a_revocation_includes_a_concurrently_created_grandchild() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    slow_down(&pool).await;
    let parent = make(&fixture, &fixture.owner.token, json!({ "name": "parent" })).await.succeeded(201);
    let child = make(&fixture, &parent.field("token"), json!({ "name": "child" })).await.succeeded(201);
    let path = format!("{TOKENS}/{}", parent.field("id"));
    let child = child.field("token");
    let revoking = async {
        until_sleeping(&pool).await;
        fixture.server.delete(&path, &fixture.owner.token).await.succeeded(200)
    };
    let (grandchild, _) = tokio::join!(make(&fixture, &child, json!({ "name": "slow" })), revoking);
    // Whichever was first: a created token is revoked.
    if grandchild.is_success() {
        fixture.server.get("/me", &grandchild.field("token")).await.refused(401, "unauthenticated");
    } else {
        grandchild.refused(401, "unauthenticated");
    }
    fixture.server.stop().await;
}

/// Race: a member creates a token while being removed. Both requests end, and a created token is revoked.
#[tokio::test]
async fn a_removal_and_a_new_token_do_not_block_each_other() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    slow_down(&pool).await;
    let member = fixture.member("developer").await;
    let path = format!("/organizations/acme/members/{}", member.user);
    let removing = async {
        until_sleeping(&pool).await;
        fixture.server.delete(&path, &fixture.owner.token).await
    };
    let blocked = async {
        until_sleeping(&pool).await;
        until_blocked(&pool, 1).await
    };
    let (made, removed, blocked) =
        tokio::join!(make(&fixture, &member.token, json!({ "name": "slow" })), removing, blocked);
    assert!(blocked, "the requests were not concurrent");
    removed.succeeded(200);
    assert!(matches!(made.status, 201 | 401), "{}", made.text);
    if made.is_success() {
        fixture.server.get("/me", &made.field("token")).await.refused(401, "unauthenticated");
    }
    fixture.server.stop().await;
}

async fn until_sleeping(pool: &PgPool) {
    let asleep = crate::support::eventually(std::time::Duration::from_secs(5), async || {
        let sql = "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(pool).await.unwrap() > 0
    });
    assert!(asleep.await);
}
