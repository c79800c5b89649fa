//! Tokens of coding agents and builds cannot administer, which an injected prompt would try first.

use serde_json::json;

use crate::changes::Changes;
use crate::fixture::PermissionFixture;
use crate::operations::WITH_ENVIRONMENT;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const TOKENS: &str = "/organizations/acme/api-tokens";

/// Creates a token of that kind with its defaults. Returns the secret and the id.
async fn program(fixture: &PermissionFixture, of: &Caller, kind: &str) -> (String, String) {
    let made =
        fixture.server.post(TOKENS, &of.token, json!({ "name": kind, "kind": kind })).await.succeeded(201);
    (made.field("token"), made.field("id"))
}

#[tokio::test]
async fn an_agent_of_an_owner_cannot_administer() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let server = &fixture.server;
    for kind in ["agent", "ci"] {
        let (token, own) = program(&fixture, &fixture.owner, kind).await;
        let changes = Changes::watch(&pool).await;
        let member = json!({ "email": "mole@acme.test", "name": "Mole", "role": "owner" });
        let others = format!("{TOKENS}/{}", fixture.owner.token_id);
        for (response, scope) in [
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
            response.refused(403, "scope_missing");
            assert_eq!(response.json["requiredScope"], scope, "{}", response.text);
        }
        changes.assert_none().await;
        // It can read events, of the audit log only those that every member reads.
        let events = server.get("/organizations/acme/events?limit=100", &token).await.succeeded(200);
        assert!(
            !events.text.contains("\"organization.") && !events.text.contains("\"token."),
            "{}",
            events.text
        );
        // It can read and revoke itself.
        server.get("/me", &token).await.succeeded(200);
        server.get("/organizations/acme/me", &token).await.succeeded(200);
        server.delete(&format!("{TOKENS}/{own}"), &token).await.succeeded(200);
        fixture.until_dead(&token).await;
        server.get("/me", &fixture.owner.token).await.succeeded(200);
    }
    fixture.server.stop().await;
}

/// A claim with a commit starts a deployment, so it needs the scope for that.
#[tokio::test]
async fn a_claim_with_a_commit_needs_the_scope_to_deploy() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let body = json!({ "name": "shop", "definition": WITH_ENVIRONMENT });
    fixture.server.post("/organizations/acme/pipelines", &fixture.owner.token, body).await.succeeded(201);
    let holds = json!({ "name": "holds", "scopes": ["read", "hold"] });
    let token = fixture.server.post(TOKENS, &fixture.owner.token, holds).await.succeeded(201).field("token");
    let base = "/organizations/acme/pipelines/shop/ephemeral-environments";
    let commit = json!({ "commitId": "0123abc" });
    let pool_claim = json!({ "labels": ["web"], "commitId": "0123abc" });
    let changes = Changes::watch(&pool).await;
    for (path, body) in [
        (format!("{base}/qa-1/sessions"), commit.clone()),
        (format!("{base}/qa-1/force-claim"), commit.clone()),
        (format!("{base}/claim"), pool_claim),
    ] {
        let refused = fixture.server.post(&path, &token, body).await;
        refused.refused(403, "scope_missing");
        assert_eq!(refused.json["requiredScope"], "deploy");
    }
    changes.assert_none().await;
    let held = fixture.server.post(&format!("{base}/qa-1/sessions"), &token, json!({})).await.succeeded(201);
    let session = format!("{base}/qa-1/sessions/{}", held.field("sessionId"));
    fixture
        .server
        .post(&format!("{session}/deploy"), &token, commit.clone())
        .await
        .refused(403, "scope_missing");
    // The session belongs to the user: another token of the same user can deploy into it.
    fixture.server.post(&format!("{session}/deploy"), &fixture.owner.token, commit).await.succeeded(202);
    fixture.server.stop().await;
}

/// Ending the session of another user needs `write`, ending one's own needs `hold`; neither includes the
/// other.
#[tokio::test]
async fn ending_a_session_needs_the_matching_scope() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let maker = fixture.member("maintainer").await;
    let token = async |scope: &str| {
        let body = json!({ "name": scope, "scopes": [scope] });
        fixture.server.post(TOKENS, &maker.token, body).await.succeeded(201).field("token")
    };
    let (holds, writes) = (token("hold").await, token("write").await);
    let path = |target: &str| {
        let [pipeline, name, id] = target.split('/').collect::<Vec<_>>()[..] else { unreachable!() };
        format!("/organizations/acme/pipelines/{pipeline}/ephemeral-environments/{name}/sessions/{id}")
    };
    let own = path(&fixture.target(crate::operations::Target::Session, &maker.token).await);
    let others = path(&fixture.target(crate::operations::Target::OthersSession, &maker.token).await);
    for (token, session, scope) in [(&holds, &others, "write"), (&writes, &own, "hold")] {
        let refused = fixture.server.delete(session, token).await;
        refused.refused(403, "scope_missing");
        assert_eq!(refused.json["requiredScope"], scope);
    }
    fixture.server.delete(&own, &holds).await.succeeded(200);
    fixture.server.delete(&others, &writes).await.succeeded(200);
    fixture.server.stop().await;
}
