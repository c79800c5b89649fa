//! A token made by a token: it can't outlive it, nor do more, and dies with it.

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::answer::Answer;
use crate::gate::until_blocked;
use crate::world::{World, in_days};

const TOKENS: &str = "/organizations/acme/api-tokens";

async fn make(world: &World, parent: &str, body: Value) -> Answer {
    world.server.post(TOKENS, parent, body).await
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_child_can_not_exceed_its_parent(pool: PgPool) {
    let world = World::new(&pool).await;
    let parent =
        async |body: Value| make(&world, &world.owner.token, body).await.succeeded(201).field("token");
    let (sooner, expiry, later) = (in_days(10), in_days(20), in_days(30));
    // Programs make tokens if they were given the scope for it.
    let program =
        |kind: &str| json!({ "name": kind, "kind": kind, "scopes": ["read", "write"], "expiresAt": expiry });
    let user = parent(json!({ "name": "user" })).await;
    let mild = parent(json!({ "name": "mild", "allowForce": false })).await;
    let ci = parent(program("ci")).await;
    let mut strong = program("ci");
    strong["allowForce"] = json!(true);
    let strong_ci = parent(strong).await;
    let agent = parent(program("agent")).await;
    let brief = parent(json!({ "name": "brief", "expiresAt": expiry })).await;
    let narrow = parent(json!({ "name": "narrow", "scopes": ["read", "hold", "write"] })).await;
    let first = world.server.pipeline(&world.owner, "first").await;
    let second = world.server.pipeline(&world.owner, "second").await;

    let all = json!(["read", "hold", "deploy", "start", "write", "admin"]);
    let read = json!(["read"]);
    let never = Value::Null;
    let no = None;
    let yes = |kind: &'static str, force: bool, expires_at: Value, scopes: &Value| {
        Some(json!({ "kind": kind, "allowForce": force, "expiresAt": expires_at, "scopes": scopes }))
    };
    for (parent, asked, outcome) in [
        // A person's token makes any.
        (&user, json!({}), yes("user", true, never.clone(), &all)),
        (
            &user,
            json!({ "kind": "ci", "allowForce": true, "expiresAt": expiry, "scopes": ["write"] }),
            yes("ci", true, json!(expiry), &json!(["write"])),
        ),
        (&user, json!({ "expiresAt": expiry }), yes("user", true, json!(expiry), &all)),
        (&user, json!({ "scopes": ["read", "read"] }), yes("user", true, never.clone(), &read)),
        // Without force none with it, and the default is what there is.
        (&mild, json!({}), yes("user", false, never.clone(), &all)),
        (&mild, json!({ "allowForce": true }), no.clone()),
        (&mild, json!({ "kind": "ci", "allowForce": true }), no.clone()),
        // A program's token makes no person's; without a kind it makes its own.
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
        // None outlives the one that made it.
        (&brief, json!({}), yes("user", true, json!(expiry), &all)),
        (&brief, json!({ "kind": "agent", "scopes": ["read"] }), yes("agent", false, json!(expiry), &read)),
        (&brief, json!({ "expiresAt": sooner }), yes("user", true, json!(sooner), &all)),
        (&brief, json!({ "expiresAt": expiry }), yes("user", true, json!(expiry), &all)),
        (&brief, json!({ "expiresAt": later }), no.clone()),
        (&agent, json!({ "kind": "agent", "expiresAt": later }), no.clone()),
        // None has a scope that the one that made it lacks.
        (&narrow, json!({}), yes("user", true, never.clone(), &json!(["read", "hold", "write"]))),
        (&narrow, json!({ "scopes": ["deploy"] }), no.clone()),
        (&narrow, json!({ "scopes": ["read", "admin"] }), no.clone()),
        (&agent, json!({ "scopes": ["write", "hold"] }), no.clone()),
    ] {
        let mut body = asked.clone();
        body["name"] = json!("child");
        let before = crate::content::fingerprint(&pool).await;
        let answer = make(&world, parent, body).await;
        match outcome {
            None => {
                answer.refused(403, "token_exceeds_parent");
                assert_eq!(crate::content::fingerprint(&pool).await, before, "{asked}");
            }
            Some(expected) => {
                let data = &answer.clone().succeeded(201).json["data"];
                // As its record shows it, and as it is where it counts.
                let me = world.server.get("/me", &answer.field("token")).await;
                for (field, value) in expected.as_object().unwrap() {
                    assert_eq!((&data[field], &me.json["data"]["token"][field]), (value, value), "{asked}");
                }
            }
        }
    }

    // Nor does one reach other pipelines than the one that made it.
    let limited = parent(json!({ "name": "limited", "pipelines": [first] })).await;
    let child = make(&world, &limited, json!({ "name": "child" })).await.succeeded(201);
    assert_eq!(child.json["data"]["pipelines"], json!([first]));
    let other = json!({ "name": "child", "pipelines": [first, second] });
    make(&world, &limited, other).await.refused(403, "token_exceeds_parent");
    // Whether it exists is not told either.
    let nothing = json!({ "name": "child", "pipelines": [format!("pip_{}", uuid::Uuid::now_v7())] });
    make(&world, &limited, nothing).await.refused(403, "token_exceeds_parent");
    world.server.stop().await;
}

/// A child belongs to the one who asks, whoever made the parent, and can do what that user can do.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_child_is_its_makers(pool: PgPool) {
    let world = World::new(&pool).await;
    let member = world.member("developer").await;
    let child = make(&world, &member.token, json!({ "name": "child" })).await.succeeded(201);
    assert_eq!(child.field("userId"), member.user);
    let me = world.server.get("/me", &child.field("token")).await;
    assert_eq!((me.field("userId"), me.field("role")), (member.user, "developer".to_owned()));
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_family_dies_with_its_eldest(pool: PgPool) {
    let world = World::new(&pool).await;
    let parent = make(&world, &world.owner.token, json!({ "name": "parent" })).await.succeeded(201);
    let child = make(&world, &parent.field("token"), json!({ "name": "child" })).await.succeeded(201);
    let sibling = make(&world, &parent.field("token"), json!({ "name": "sibling" })).await.succeeded(201);
    let grandchild =
        make(&world, &child.field("token"), json!({ "name": "grandchild" })).await.succeeded(201);
    let create = json!({ "name": "more" });

    // A child's end leaves its parent and its siblings alone.
    let path = |token: &Answer| format!("{TOKENS}/{}", token.field("id"));
    world.server.delete(&path(&sibling), &sibling.field("token")).await.succeeded(200);
    make(&world, &sibling.field("token"), create.clone()).await.refused(401, "unauthenticated");
    for alive in [&parent, &child, &grandchild] {
        make(&world, &alive.field("token"), create.clone()).await.succeeded(201);
    }
    world.server.delete(&path(&parent), &world.owner.token).await.succeeded(200);
    for dead in [&parent, &child, &grandchild] {
        make(&world, &dead.field("token"), create.clone()).await.refused(401, "unauthenticated");
        let record = world.server.get(&path(dead), &world.owner.token).await;
        assert!(record.json["data"]["revokedAt"].is_string(), "{}", record.text);
    }
    make(&world, &world.owner.token, create).await.succeeded(201);
    world.server.stop().await;
}

/// A pause before a token named `slow` is written: by then the making token is locked, the new one not yet there.
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

/// The revocation of a token runs beside its child's making of a grandchild.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn no_grandchild_slips_through_a_revocation(pool: PgPool) {
    let world = World::new(&pool).await;
    slow_down(&pool).await;
    let parent = make(&world, &world.owner.token, json!({ "name": "parent" })).await.succeeded(201);
    let child = make(&world, &parent.field("token"), json!({ "name": "child" })).await.succeeded(201);
    let path = format!("{TOKENS}/{}", parent.field("id"));
    let child = child.field("token");
    let revoking = async {
        until_sleeping(&pool).await;
        world.server.delete(&path, &world.owner.token).await.succeeded(200)
    };
    let (grandchild, _) = tokio::join!(make(&world, &child, json!({ "name": "slow" })), revoking);
    // Whichever came first: what was made is dead.
    if grandchild.is_success() {
        world.server.get("/me", &grandchild.field("token")).await.refused(401, "unauthenticated");
    } else {
        grandchild.refused(401, "unauthenticated");
    }
    world.server.stop().await;
}

/// A member makes a token while being removed. Both requests have an answer, and what was made is dead.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_removal_and_a_new_token_do_not_block_each_other(pool: PgPool) {
    let world = World::new(&pool).await;
    slow_down(&pool).await;
    let member = world.member("developer").await;
    let path = format!("/organizations/acme/members/{}", member.user);
    let removing = async {
        until_sleeping(&pool).await;
        world.server.delete(&path, &world.owner.token).await
    };
    let blocked = async {
        until_sleeping(&pool).await;
        until_blocked(&pool, 1).await
    };
    let (made, removed, blocked) =
        tokio::join!(make(&world, &member.token, json!({ "name": "slow" })), removing, blocked);
    assert!(blocked, "the two should have met");
    removed.succeeded(200);
    assert!(matches!(made.status, 201 | 401), "{}", made.text);
    if made.is_success() {
        world.server.get("/me", &made.field("token")).await.refused(401, "unauthenticated");
    }
    world.server.stop().await;
}

async fn until_sleeping(pool: &PgPool) {
    let asleep = crate::support::eventually(std::time::Duration::from_secs(5), async || {
        let sql = "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(pool).await.unwrap() > 0
    });
    assert!(asleep.await);
}
