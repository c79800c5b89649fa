//! Sessions of service accounts belong to the token that claimed them and to those that it made.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

impl EnvironmentFixture {
    /// Creates a service account. Returns its id.
    pub async fn service_account(&self, role: &str) -> String {
        let body = json!({ "name": format!("{role} program"), "role": role });
        let made = self.of_organization(&self.owner, Method::POST, "/service-accounts", body).await;
        made["data"]["id"].as_str().unwrap().to_owned()
    }

    /// Creates a token of a service account.
    pub async fn service_token(&self, account: &str, body: Value) -> Caller {
        let path = format!("/service-accounts/{account}/api-tokens");
        let made = self.of_organization(&self.owner, Method::POST, &path, body).await;
        let text = |field: &str| made["data"][field].as_str().unwrap().to_owned();
        Caller {
            organization: self.owner.organization.clone(),
            user: account.to_owned(),
            token: text("token"),
            token_id: text("id"),
        }
    }

    /// Sends a request that has to succeed to a path of the organization.
    pub async fn of_organization(&self, by: &Caller, method: Method, path: &str, body: Value) -> Value {
        let body = (!body.is_null()).then_some(body);
        let (status, json) =
            self.server.json(method, &format!("/organizations/acme{path}"), &by.token, body).await;
        assert!(status.is_success(), "{path}: {json}");
        json
    }

    async fn status_and_code(&self, by: &Caller, method: Method, path: &str, body: Value) -> (u16, Value) {
        let reply = self.send(by, method, path, body).await;
        (reply.status, reply.json["code"].clone())
    }
}

/// Scopes of a token that makes others.
fn maker(name: &str) -> Value {
    json!({ "name": name, "scopes": ["read", "hold", "deploy", "write"] })
}

#[tokio::test]
async fn another_token_of_the_account_is_another_user() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let account = fixture.service_account("developer").await;
    let (first, second) = (
        fixture.service_token(&account, maker("job 1")).await,
        fixture.service_token(&account, maker("job 2")).await,
    );
    let child = fixture.token(&first, json!({ "name": "job 1, step 2" })).await;

    // The fast path and a read show the token.
    let claimed = fixture.claim(&first, json!({})).await.is(201)["data"].clone();
    assert_eq!(claimed["lock"]["holder"]["token"], "job 1", "{claimed}");
    assert_eq!(claimed["claimedBy"]["token"], "job 1");
    let lock = fixture.get(&second, "").await.is(200)["data"]["lock"].clone();
    assert_eq!((&lock["holder"]["id"], &lock["holder"]["token"]), (&json!(account), &json!("job 1")));
    let session = claimed["sessionId"].as_str().unwrap().to_owned();

    let own = format!("/sessions/{session}");
    let commit = json!({ "commitId": "0123abc" });
    let refused = (403, json!("forbidden"));
    for (method, path, body) in [
        (Method::POST, format!("{own}/deploy"), commit.clone()),
        (Method::POST, format!("{own}/renew"), Value::Null),
        (Method::POST, format!("{own}/heartbeat"), json!({})),
        (Method::POST, format!("{own}/transfer"), json!({ "userId": fixture.mate.user })),
        (Method::POST, format!("{own}/handover/accept"), json!({})),
        (Method::POST, format!("{own}/handover/decline"), json!({})),
        (Method::DELETE, own.clone(), Value::Null),
        (Method::GET, format!("/events?sessionId={session}"), Value::Null),
    ] {
        assert_eq!(fixture.status_and_code(&second, method, &path, body).await, refused, "{path}");
    }
    let claim =
        async |by: &Caller, body: Value| fixture.status_and_code(by, Method::POST, "/sessions", body).await;
    assert_eq!(claim(&second, json!({})).await, (409, json!("environment_locked")));
    // The slow path decides in the same way.
    assert_eq!(claim(&second, commit.clone()).await, (409, json!("environment_locked")));
    for by in [&first, &child] {
        assert_eq!(claim(by, json!({})).await, (409, json!("held_by_you")));
        assert_eq!(claim(by, commit.clone()).await, (409, json!("held_by_you")));
    }

    // The child acts for its parent, and not the other way round for another token.
    fixture.send(&child, Method::POST, &format!("{own}/renew"), Value::Null).await.is(200);
    fixture.send(&child, Method::POST, &format!("{own}/heartbeat"), json!({})).await.is(200);
    let deployed = fixture.send(&child, Method::POST, &format!("{own}/deploy"), commit.clone()).await.is(202);
    let deployment = deployed["data"]["id"].as_str().unwrap();
    let cancel = async |by: &Caller| {
        let path = format!("/organizations/acme/deployments/{deployment}/cancel");
        let (status, json) = fixture.server.json(Method::POST, &path, &by.token, Some(json!({}))).await;
        (status.as_u16(), json)
    };
    let (status, problem) = cancel(&second).await;
    assert_eq!(
        (status, &problem["code"], &problem["holder"]["token"]),
        (403, &json!("forbidden"), &json!("job 1"))
    );
    assert_eq!(cancel(&first).await.0, 202);

    // Counts of one's own sessions.
    let yours = async |by: &Caller| {
        fixture.of_organization(by, Method::GET, "/summary", Value::Null).await["data"]["yours"]["held"]
            .clone()
    };
    assert_eq!(
        (yours(&first).await, yours(&child).await, yours(&second).await),
        (json!(1), json!(1), json!(0))
    );
    fixture.delete(&child, &own).await.is(200);
    fixture.end().await;
}

#[tokio::test]
async fn the_fast_path_releases_own_sessions_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let account = fixture.service_account("developer").await;
    let (first, second) = (
        fixture.service_token(&account, maker("1")).await,
        fixture.service_token(&account, maker("2")).await,
    );
    let session = fixture.claim(&first, json!({})).await.session();
    fixture.delete(&second, &format!("/sessions/{session}")).await.is(403);
    fixture.delete(&first, &format!("/sessions/{session}")).await.is(200);
    let lock = fixture.get(&first, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock, json!({ "status": "free", "queueLength": 0 }));
    // A person's lock has no token.
    let held = fixture.claim(&fixture.dev, json!({})).await.is(201);
    assert_eq!(held["data"]["lock"]["holder"].get("token"), None);
    fixture.end().await;
}

#[tokio::test]
async fn tokens_of_an_account_wait_for_each_other() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let account = fixture.service_account("developer").await;
    let (first, second) = (
        fixture.service_token(&account, maker("1")).await,
        fixture.service_token(&account, maker("2")).await,
    );
    let held = fixture.claim(&first, json!({})).await.session();
    let path = format!("/sessions/{held}/request-handover");
    let refused = fixture.status_and_code(&first, Method::POST, &path, json!({})).await;
    assert_eq!(refused, (409, json!("held_by_you")));
    let waiting = fixture.send(&second, Method::POST, &path, json!({})).await.session();
    let lock = fixture.get(&first, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock["handover"]["requestedBy"]["token"], "2", "{lock}");
    // Another token can neither keep the place nor leave it.
    let own = format!("/sessions/{waiting}");
    fixture.send(&first, Method::POST, &format!("{own}/heartbeat"), json!({})).await.is(403);
    fixture.delete(&first, &own).await.is(403);
    fixture.send(&second, Method::POST, &format!("{own}/heartbeat"), json!({})).await.is(200);
    fixture.send(&first, Method::POST, &format!("/sessions/{held}/handover/accept"), json!({})).await.is(200);
    let lock = fixture.get(&first, "").await.is(200)["data"]["lock"].clone();
    assert_eq!((&lock["sessionId"], &lock["holder"]["token"]), (&json!(waiting), &json!("2")));
    fixture.send(&second, Method::POST, &format!("{own}/heartbeat"), json!({})).await.is(200);
    fixture.end().await;
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_the_token() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let account = fixture.service_account("developer").await;
    let (first, second) = (
        fixture.service_token(&account, maker("1")).await,
        fixture.service_token(&account, maker("2")).await,
    );
    let child = fixture.token(&first, json!({ "name": "1, later" })).await;
    let claim = async |by: &Caller| {
        let url = format!(
            "{}/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/sessions",
            fixture.server.base, fixture.pipeline
        );
        let request = fixture.server.client.post(url).bearer_auth(&by.token);
        let response = request.header("idempotency-key", "the same").json(&json!({})).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let (status, claimed) = claim(&first).await;
    assert_eq!(status, 201, "{claimed}");
    for by in [&first, &child] {
        let (status, repeated) = claim(by).await;
        assert_eq!(
            (status, &repeated["data"]["sessionId"]),
            (201, &claimed["data"]["sessionId"]),
            "{repeated}"
        );
    }
    let (status, problem) = claim(&second).await;
    assert_eq!((status, &problem["code"]), (409, &json!("environment_locked")), "{problem}");
    fixture.end().await;
}

#[tokio::test]
async fn a_session_is_not_transferred_to_a_service_account() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let account = fixture.service_account("developer").await;
    let program = fixture.service_token(&account, maker("1")).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let path = format!("/sessions/{held}/transfer");
    let refused = fixture.send(&fixture.dev, Method::POST, &path, json!({ "userId": account })).await.is(422);
    assert_eq!(refused["errors"][0]["pointer"], "/userId");
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    // A program may transfer its own to a person.
    let held = fixture.claim(&program, json!({})).await.session();
    let path = format!("/sessions/{held}/transfer");
    let given =
        fixture.send(&program, Method::POST, &path, json!({ "userId": fixture.dev.user })).await.is(201);
    assert_eq!(given["data"]["claimedBy"]["id"], fixture.dev.user.as_str());
    assert_eq!(given["data"]["claimedBy"].get("token"), None);
    fixture.end().await;
}

/// Whichever way the account loses its rights, the sessions of all of its tokens end.
async fn ends_sessions(method: Method, body: Value, tokens_end: bool) {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let account = fixture.service_account("developer").await;
    let (first, second) = (
        fixture.service_token(&account, maker("1")).await,
        fixture.service_token(&account, maker("2")).await,
    );
    let held = fixture.claim(&first, json!({ "commitId": "0123abc" })).await.session();
    let waiting = fixture.claim(&second, json!({ "queue": true })).await.session();
    let persons = fixture.claim(&fixture.dev, json!({ "queue": true })).await.session();

    let path = format!("/service-accounts/{account}");
    let dry = format!("{path}?dryRun=true");
    let dry = fixture.of_organization(&fixture.owner, method.clone(), &dry, body.clone()).await;
    let ended = |response: &Value| {
        let ended = response["data"]["ended"].as_array().unwrap().iter();
        let mut ended: Vec<_> = ended.map(|one| one["sessionId"].as_str().unwrap().to_owned()).collect();
        ended.sort();
        ended
    };
    let mut expected = vec![held.clone(), waiting.clone()];
    expected.sort();
    assert_eq!(ended(&dry), expected);
    let session = async |id: &str| {
        fixture.get(&fixture.owner, &format!("/sessions/{id}")).await.is(200)["data"].clone()
    };
    assert_eq!(session(&held).await["status"], "active");
    let done = fixture.of_organization(&fixture.owner, method, &path, body).await;
    assert_eq!(ended(&done), expected);
    let (held, waiting) = (session(&held).await, session(&waiting).await);
    assert_eq!((&held["status"], &waiting["status"]), (&json!("released"), &json!("canceled")));
    assert_eq!(held["deployments"][0]["status"], "canceled", "{held}");
    assert_eq!(session(&persons).await["status"], "active");
    for token in [&first, &second] {
        let rejected = eventually(Duration::from_secs(1), async || {
            let status = fixture.claim(token, json!({})).await.status;
            status == if tokens_end { 401 } else { 403 }
        });
        assert!(rejected.await);
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_deletion_ends_sessions_and_tokens() {
    ends_sessions(Method::DELETE, Value::Null, true).await;
}

#[tokio::test]
async fn a_demotion_ends_sessions() {
    ends_sessions(Method::PATCH, json!({ "role": "viewer" }), false).await;
}

#[tokio::test]
async fn a_token_survives_the_admin_who_made_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let admin = fixture.server.member(&fixture.owner, "acme", "admin").await;
    let account = fixture.service_account("developer").await;
    let path = format!("/service-accounts/{account}/api-tokens");
    let made = fixture.of_organization(&admin, Method::POST, &path, json!({ "name": "ci" })).await;
    let program = Caller { token: made["data"]["token"].as_str().unwrap().to_owned(), ..admin.clone() };
    let path = format!("/members/{}", admin.user);
    fixture.of_organization(&fixture.owner, Method::DELETE, &path, Value::Null).await;
    let rejected = eventually(Duration::from_secs(1), async || fixture.get(&admin, "").await.status == 401);
    assert!(rejected.await);
    fixture.claim(&program, json!({})).await.session();
    fixture.end().await;
}
