//! Grants: what they permit, and where.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

const DEFINITION: &str = "environments: { production: {} }
ephemeralEnvironments:
  qa-1: { force: { role: maintainer } }
  qa-2: {}
stages:
  build: { steps: [{ image: a, run: b }] }
";

pub struct Fixture {
    pub server: TestServer,
    pub owner: Caller,
}

impl Fixture {
    /// Two pipelines, `shop` and `bank`.
    pub async fn new(pool: &sqlx::PgPool) -> Self {
        let server = TestServer::start(pool).await;
        let owner = server.organization("acme").await;
        for slug in ["shop", "bank"] {
            server
                .post(&owner, "/pipelines", json!({ "name": slug, "slug": slug, "definition": DEFINITION }))
                .await;
        }
        Self { server, owner }
    }

    pub async fn call(&self, by: &Caller, method: Method, path: &str, body: Value) -> (u16, Value) {
        let body = (!body.is_null()).then_some(body);
        let path = format!("/organizations/acme{path}");
        let (status, response) = self.server.json(method, &path, &by.token, body).await;
        (status.as_u16(), response)
    }

    pub async fn done(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, mut response) = self.call(&self.owner, method, path, body).await;
        assert!(status < 300, "{path}: {status} {response}");
        response["data"].take()
    }

    pub async fn grant(&self, user: &Caller, role: &str) {
        let path = format!("/pipelines/shop/grants/users/{}", user.user);
        self.done(Method::PUT, &path, json!({ "role": role })).await;
    }

    pub async fn viewer(&self) -> Caller {
        self.server.member(&self.owner, "acme", "viewer").await
    }

    pub async fn claim(&self, by: &Caller, pipeline: &str, environment: &str) -> (u16, Value) {
        let path = format!("/pipelines/{pipeline}/ephemeral-environments/{environment}/sessions");
        self.call(by, Method::POST, &path, json!({})).await
    }

    /// Claims an environment of `shop`, and returns the path of the session.
    pub async fn held(&self, by: &Caller, environment: &str) -> String {
        let (status, claimed) = self.claim(by, "shop", environment).await;
        assert_eq!(status, 201, "{claimed}");
        let session = claimed["data"]["sessionId"].as_str().unwrap();
        format!("/pipelines/shop/ephemeral-environments/{environment}/sessions/{session}")
    }

    pub async fn status(&self, session: &str) -> String {
        let (_, found) = self.call(&self.owner, Method::GET, session, Value::Null).await;
        found["data"]["status"].as_str().unwrap().to_owned()
    }

    pub async fn group_of(&self, name: &str, members: &[&Caller]) -> String {
        let group = self.done(Method::POST, "/groups", json!({ "name": name })).await;
        let group = group["id"].as_str().unwrap().to_owned();
        for member in members {
            self.done(Method::PUT, &format!("/groups/{group}/members/{}", member.user), Value::Null).await;
        }
        group
    }
}

#[tokio::test]
async fn a_grant_is_set_changed_listed_and_deleted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    let group = fixture.group_of("ops", &[]).await;
    let (of_user, of_group) = (
        format!("/pipelines/shop/grants/users/{}", viewer.user),
        format!("/pipelines/shop/grants/groups/{group}"),
    );
    let created = fixture.done(Method::PUT, &of_user, json!({ "role": "developer" })).await;
    assert_eq!((&created["role"], &created["user"]["id"]), (&json!("developer"), &json!(viewer.user)));
    assert_eq!(created["group"], json!(null));
    let same = fixture.done(Method::PUT, &of_user, json!({ "role": "developer" })).await;
    assert_eq!(same, created);
    let changed = fixture.done(Method::PUT, &of_user, json!({ "role": "maintainer" })).await;
    assert_eq!(changed["role"], "maintainer");
    fixture.done(Method::PUT, &of_group, json!({ "role": "developer" })).await;
    let (_, list) = fixture.call(&viewer, Method::GET, "/pipelines/shop/grants", Value::Null).await;
    let names: Vec<_> =
        list["data"].as_array().unwrap().iter().map(|grant| grant["group"]["name"].clone()).collect();
    assert_eq!(names, [json!("ops"), json!(null)], "{list}");
    for _ in 0..2 {
        fixture.done(Method::DELETE, &of_user, Value::Null).await;
    }
    fixture.done(Method::DELETE, &of_group, Value::Null).await;
    let events = fixture.server.events(&pool, &fixture.owner).await;
    let of_grants = events.iter().filter(|event| event["type"].as_str().unwrap().starts_with("grant."));
    let types: Vec<_> = of_grants.map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["grant.created", "grant.updated", "grant.created", "grant.deleted", "grant.deleted"]);
    fixture.server.end().await;
}

#[tokio::test]
async fn neither_more_than_maintainer_nor_less_than_developer_is_granted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    let path = format!("/pipelines/shop/grants/users/{}", viewer.user);
    for role in ["viewer", "admin", "owner", "root", ""] {
        let (status, refused) =
            fixture.call(&fixture.owner, Method::PUT, &path, json!({ "role": role })).await;
        assert_eq!((status, &refused["code"]), (422, &json!("invalid_request")), "{role}: {refused}");
    }
    // Nor by hand.
    let forged = sqlx::query("update grants set role = 'owner'");
    fixture.grant(&viewer, "maintainer").await;
    assert!(forged.execute(&pool).await.is_err());
    fixture.server.end().await;
}

/// Other organizations' groups, users and pipelines, and users who are no members.
#[tokio::test]
async fn a_grant_names_only_records_of_its_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let stranger = fixture.server.organization("globex").await;
    let foreign = fixture.server.post(&stranger, "/groups", json!({ "name": "ops" })).await;
    let foreign_group = foreign["id"].as_str().unwrap();
    let body = json!({ "name": "Theirs", "slug": "theirs", "definition": DEFINITION });
    let theirs = fixture.server.post(&stranger, "/pipelines", body).await["id"].as_str().unwrap().to_owned();
    let removed = fixture.viewer().await;
    fixture.done(Method::DELETE, &format!("/members/{}", removed.user), Value::Null).await;
    let own = fixture.group_of("ops", &[]).await;
    for path in [
        format!("/pipelines/shop/grants/groups/{foreign_group}"),
        format!("/pipelines/shop/grants/users/{}", stranger.user),
        format!("/pipelines/shop/grants/users/{}", removed.user),
        format!("/pipelines/{theirs}/grants/groups/{own}"),
        format!("/pipelines/shop/grants/groups/{}", stranger.user),
    ] {
        for (method, body) in [(Method::PUT, json!({ "role": "developer" })), (Method::DELETE, Value::Null)] {
            let (status, refused) = fixture.call(&fixture.owner, method.clone(), &path, body).await;
            assert_eq!((status, &refused["code"]), (404, &json!("not_found")), "{method} {path}: {refused}");
        }
    }
    fixture.server.end().await;
}

#[tokio::test]
async fn a_grant_permits_what_its_role_may_on_its_pipeline_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    assert_eq!(fixture.claim(&viewer, "shop", "qa-1").await.0, 403);
    fixture.grant(&viewer, "developer").await;
    // The fast path, by slug.
    let session = fixture.held(&viewer, "qa-1").await;
    let (status, refused) = fixture.claim(&viewer, "bank", "qa-1").await;
    assert_eq!((status, &refused["requiredRole"]), (403, &json!("developer")), "{refused}");
    let path = format!("{session}/deploy");
    assert_eq!(fixture.call(&viewer, Method::POST, &path, json!({ "commitId": "0123abc" })).await.0, 202);
    let start = json!({ "commitId": "0123abc" });
    assert_eq!(
        fixture.call(&viewer, Method::POST, "/pipelines/shop/deployments", start.clone()).await.0,
        202
    );
    assert_eq!(fixture.call(&viewer, Method::POST, "/pipelines/bank/deployments", start).await.0, 403);
    // A maintainer's rights are not a developer's.
    assert_eq!(fixture.call(&viewer, Method::POST, "/pipelines/shop/stop", json!({})).await.0, 403);
    assert_eq!(fixture.call(&viewer, Method::DELETE, &session, Value::Null).await.0, 200);

    fixture.grant(&viewer, "maintainer").await;
    assert_eq!(fixture.call(&viewer, Method::POST, "/pipelines/shop/stop", json!({})).await.0, 200);
    assert_eq!(fixture.call(&viewer, Method::POST, "/pipelines/shop/resume", json!({})).await.0, 200);
    assert_eq!(fixture.call(&viewer, Method::POST, "/pipelines/bank/stop", json!({})).await.0, 403);
    // What belongs to the organization, or needs an admin, is not granted.
    let pipeline = json!({ "name": "New", "definition": DEFINITION });
    assert_eq!(fixture.call(&viewer, Method::POST, "/pipelines", pipeline).await.0, 403);
    let weaker = json!({ "definition": DEFINITION.replace("{ production: {} }", "{}") });
    let (status, refused) = fixture.call(&viewer, Method::PUT, "/pipelines/shop", weaker).await;
    assert_eq!((status, &refused["code"]), (403, &json!("protection_weakened")), "{refused}");
    let path = format!("/pipelines/shop/grants/users/{}", viewer.user);
    assert_eq!(fixture.call(&viewer, Method::PUT, &path, json!({ "role": "maintainer" })).await.0, 403);
    fixture.server.end().await;
}

/// A developer of the organization whom a grant makes a maintainer: the permission of the operation is there already, and
/// the use case needs more.
#[tokio::test]
async fn a_grant_counts_where_the_use_case_needs_more_than_the_operation() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let force = "/pipelines/shop/ephemeral-environments/qa-1/force-claim";
    let session = fixture.held(&fixture.owner, "qa-1").await;
    assert_eq!(fixture.call(&developer, Method::POST, force, json!({})).await.0, 403);
    assert_eq!(fixture.call(&developer, Method::DELETE, &session, Value::Null).await.0, 403);
    let (_, refused) = fixture.claim(&developer, "shop", "qa-1").await;
    let actions = |refused: &Value| refused["actions"].as_array().unwrap().len();
    let before = actions(&refused);
    let older = json!({ "commitId": "0123abc", "allowOlder": true });
    let deployments = "/pipelines/shop/deployments";
    assert_eq!(fixture.call(&developer, Method::POST, deployments, older.clone()).await.0, 403);

    fixture.grant(&developer, "maintainer").await;
    let (_, refused) = fixture.claim(&developer, "shop", "qa-1").await;
    assert_eq!(actions(&refused), before + 2, "release and force_claim: {refused}");
    assert_eq!(fixture.call(&developer, Method::POST, deployments, older).await.0, 202);
    assert_eq!(fixture.call(&developer, Method::POST, force, json!({})).await.0, 201);
    let session = fixture.held(&fixture.owner, "qa-2").await;
    assert_eq!(fixture.call(&developer, Method::DELETE, &session, Value::Null).await.0, 200);
    fixture.server.end().await;
}

#[tokio::test]
async fn secrets_of_the_pipeline_follow_the_grant() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    let secret = |name: &str, pipeline: Option<&str>| json!({ "name": name, "value": "a long value", "pipelineId": pipeline });
    let own = fixture.done(Method::POST, "/secrets", secret("organization", None)).await;
    let own = format!("/secrets/{}", own["id"].as_str().unwrap());
    let create =
        async |pipeline| fixture.call(&viewer, Method::POST, "/secrets", secret("key", pipeline)).await.0;
    let list = async |query: &str| {
        fixture.call(&viewer, Method::GET, &format!("/secrets{query}"), Value::Null).await
    };
    assert_eq!((create(Some("shop")).await, list("?pipelineId=shop").await.0), (403, 403));
    fixture.grant(&viewer, "developer").await;
    assert_eq!((create(Some("shop")).await, list("?pipelineId=shop").await.0), (403, 200));
    fixture.grant(&viewer, "maintainer").await;
    assert_eq!(create(Some("shop")).await, 201);
    assert_eq!(
        (create(Some("bank")).await, create(None).await, create(Some("no-such")).await),
        (403, 403, 403)
    );
    assert_eq!((list("").await.0, list("?pipelineId=bank").await.0), (403, 403));
    assert_eq!(list("?pipelineId=shop").await.1["pagination"]["total"], 1);
    assert_eq!(fixture.call(&viewer, Method::GET, &own, Value::Null).await.0, 403);
    assert_eq!(fixture.call(&viewer, Method::DELETE, &own, Value::Null).await.0, 403);
    fixture.server.end().await;
}

/// A token that is limited to scopes and pipelines stays limited, whatever is granted to its user.
#[tokio::test]
async fn a_limited_token_stays_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    fixture.grant(&viewer, "maintainer").await;
    let bank = fixture.done(Method::GET, "/pipelines/bank", Value::Null).await["id"].clone();
    let token = async |body: Value| {
        let (status, made) = fixture.call(&viewer, Method::POST, "/api-tokens", body).await;
        assert_eq!(status, 201, "{made}");
        Caller { token: made["data"]["token"].as_str().unwrap().to_owned(), ..viewer.clone() }
    };
    let reader = token(json!({ "name": "reader", "scopes": ["read"] })).await;
    let (status, refused) = fixture.claim(&reader, "shop", "qa-1").await;
    assert_eq!((status, &refused["code"]), (403, &json!("forbidden")), "{refused}");
    let elsewhere = token(json!({ "name": "elsewhere", "pipelines": [bank] })).await;
    assert_eq!(fixture.claim(&elsewhere, "shop", "qa-1").await.0, 404);
    assert_eq!(fixture.claim(&elsewhere, "bank", "qa-1").await.0, 403);
    fixture.server.end().await;
}

/// A slug that moves to another pipeline does not carry the grant along.
#[tokio::test]
async fn a_grant_belongs_to_the_pipeline_and_not_to_its_slug() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Fixture::new(&pool).await;
    let viewer = fixture.viewer().await;
    fixture.grant(&viewer, "maintainer").await;
    fixture.done(Method::DELETE, "/pipelines/shop", Value::Null).await;
    let body = json!({ "name": "shop", "slug": "shop", "definition": DEFINITION });
    fixture.done(Method::POST, "/pipelines", body).await;
    assert_eq!(fixture.claim(&viewer, "shop", "qa-1").await.0, 403);
    assert_eq!(fixture.call(&viewer, Method::POST, "/pipelines/shop/stop", json!({})).await.0, 403);
    fixture.server.end().await;
}
