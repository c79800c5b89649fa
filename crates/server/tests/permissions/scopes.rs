//! What an injected prompt would try first with the token of a coding agent or a build: administration.

use serde_json::json;
use sqlx::PgPool;

use crate::operations::WITH_ENVIRONMENT;
use crate::support::Caller;
use crate::world::World;

const TOKENS: &str = "/organizations/acme/api-tokens";

/// A token of that kind with its defaults: the secret and the id.
async fn program(world: &World, of: &Caller, kind: &str) -> (String, String) {
    let made =
        world.server.post(TOKENS, &of.token, json!({ "name": kind, "kind": kind })).await.succeeded(201);
    (made.field("token"), made.field("id"))
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_owners_agent_can_not_administer(pool: PgPool) {
    let world = World::new(&pool).await;
    let server = &world.server;
    for kind in ["agent", "ci"] {
        let (token, own) = program(&world, &world.owner, kind).await;
        let before = crate::content::fingerprint(&pool).await;
        let member = json!({ "email": "mole@acme.test", "name": "Mole", "role": "owner" });
        let others = format!("{TOKENS}/{}", world.owner.token_id);
        for (answer, scope) in [
            (server.post("/organizations/acme/members", &token, member).await, "admin"),
            (server.post("/organizations/acme/runners", &token, json!({ "name": "mole" })).await, "admin"),
            (server.get("/organizations/acme/runners", &token).await, "admin"),
            (server.get("/organizations/acme/events?category=audit", &token).await, "admin"),
            (server.get(&format!("{TOKENS}?all=true"), &token).await, "write"),
            (server.get(TOKENS, &token).await, "write"),
            (server.get(&others, &token).await, "write"),
            (server.delete(&others, &token).await, "write"),
            (server.post(TOKENS, &token, json!({ "name": "child" })).await, "write"),
            (server.patch("/organizations/acme", &token, json!({ "name": "Mine" })).await, "admin"),
        ] {
            answer.refused(403, "scope_missing");
            assert_eq!(answer.json["requiredScope"], scope, "{}", answer.text);
        }
        assert_eq!(crate::content::fingerprint(&pool).await, before);
        // What is not audit it reads, and nothing of the audit log is in between.
        let events = server.get("/organizations/acme/events?limit=100", &token).await.succeeded(200);
        assert!(!events.text.contains("\"member.") && !events.text.contains("\"token."), "{}", events.text);
        // Itself it can see and revoke.
        server.get("/me", &token).await.succeeded(200);
        server.get("/organizations/acme/me", &token).await.succeeded(200);
        server.delete(&format!("{TOKENS}/{own}"), &token).await.succeeded(200);
        world.until_dead(&token).await;
        server.get("/me", &world.owner.token).await.succeeded(200);
    }
    world.server.stop().await;
}

/// A commit that comes with a claim is a deployment, and needs the scope for one.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_claim_with_a_commit_needs_the_scope_to_deploy(pool: PgPool) {
    let world = World::new(&pool).await;
    let body = json!({ "name": "shop", "definition": WITH_ENVIRONMENT });
    world.server.post("/organizations/acme/pipelines", &world.owner.token, body).await.succeeded(201);
    let holds = json!({ "name": "holds", "scopes": ["read", "hold"] });
    let token = world.server.post(TOKENS, &world.owner.token, holds).await.succeeded(201).field("token");
    let base = "/organizations/acme/pipelines/shop/ephemeral-environments";
    let commit = json!({ "commitId": "0123abc" });
    let pool_claim = json!({ "labels": ["web"], "commitId": "0123abc" });
    let before = crate::content::fingerprint(&pool).await;
    for (path, body) in [
        (format!("{base}/qa-1/sessions"), commit.clone()),
        (format!("{base}/qa-1/force-claim"), commit.clone()),
        (format!("{base}/claim"), pool_claim),
    ] {
        let refused = world.server.post(&path, &token, body).await;
        refused.refused(403, "scope_missing");
        assert_eq!(refused.json["requiredScope"], "deploy");
    }
    assert_eq!(crate::content::fingerprint(&pool).await, before);
    let held = world.server.post(&format!("{base}/qa-1/sessions"), &token, json!({})).await.succeeded(201);
    let session = format!("{base}/qa-1/sessions/{}", held.field("sessionId"));
    world
        .server
        .post(&format!("{session}/deploy"), &token, commit.clone())
        .await
        .refused(403, "scope_missing");
    // The session is the user's: another token of the same user deploys into it.
    world.server.post(&format!("{session}/deploy"), &world.owner.token, commit).await.succeeded(202);
    world.server.stop().await;
}

/// Ending another's session is `write`, ending one's own is `hold`; neither stands in for the other.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn ending_sessions_needs_the_scope_that_fits(pool: PgPool) {
    let world = World::new(&pool).await;
    let maker = world.member("maintainer").await;
    let token = async |scope: &str| {
        let body = json!({ "name": scope, "scopes": [scope] });
        world.server.post(TOKENS, &maker.token, body).await.succeeded(201).field("token")
    };
    let (holds, writes) = (token("hold").await, token("write").await);
    let path = |target: &str| {
        let [pipeline, name, id] = target.split('/').collect::<Vec<_>>()[..] else { unreachable!() };
        format!("/organizations/acme/pipelines/{pipeline}/ephemeral-environments/{name}/sessions/{id}")
    };
    let own = path(&world.target(crate::operations::Target::Session, &maker.token).await);
    let others = path(&world.target(crate::operations::Target::OthersSession, &maker.token).await);
    for (token, session, scope) in [(&holds, &others, "write"), (&writes, &own, "hold")] {
        let refused = world.server.delete(session, token).await;
        refused.refused(403, "scope_missing");
        assert_eq!(refused.json["requiredScope"], scope);
    }
    world.server.delete(&own, &holds).await.succeeded(200);
    world.server.delete(&others, &writes).await.succeeded(200);
    world.server.stop().await;
}
