//! Service accounts: their records, events and tokens, and what their ids and tokens can't be used for.

use greenroom_domain::token_grant::MAX_SESSION_LIMIT;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::requests::{header, problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer, in_hours};

async fn send(server: &TestServer, by: &Caller, method: Method, path: &str, body: &Value) -> Response {
    server.request(by, method, path).json(body).send().await.unwrap()
}

fn id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

fn developer(name: &str) -> Value {
    json!({ "name": name, "role": "developer" })
}

#[tokio::test]
async fn a_service_account_is_created_changed_and_deleted() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body =
        json!({ "name": " Storefront CI ", "role": "developer", "description": "Tries pull requests" });
    let created = send(&server, &owner, Method::POST, "/service-accounts", &body).await;
    assert_eq!(header(&created, "etag"), "\"1\"");
    let created = success(created, 201).await["data"].take();
    assert_eq!((&created["name"], &created["role"]), (&json!("Storefront CI"), &json!("developer")));
    assert_eq!(created["createdBy"], owner.user.as_str());
    let path = format!("/service-accounts/{}", id(&created));
    assert_eq!(server.get(&owner, &path).await["data"], created);

    let patch = async |condition: &str, body: Value| {
        let request = server.request(&owner, Method::PATCH, &path).header("If-Match", condition);
        request.json(&body).send().await.unwrap()
    };
    let changed =
        success(patch("\"1\"", json!({ "role": "maintainer", "description": null })).await, 200).await;
    assert_eq!(
        (&changed["data"]["role"], &changed["data"]["description"]),
        (&json!("maintainer"), &json!(null))
    );
    assert_eq!(changed["data"]["name"], "Storefront CI");
    problem(patch("\"1\"", json!({ "name": "Late" })).await, 412, "precondition_failed").await;
    // A request without a change makes no revision.
    assert_eq!(header(&patch("*", json!({ "role": "maintainer" })).await, "etag"), "\"2\"");

    // A name belongs to one account, regardless of case, until that is deleted.
    let other =
        success(send(&server, &owner, Method::POST, "/service-accounts", &developer("Other")).await, 201)
            .await;
    for (method, path) in [
        (Method::POST, "/service-accounts".to_owned()),
        (Method::PATCH, format!("/service-accounts/{}", id(&other["data"]))),
    ] {
        let body = if method == Method::POST {
            developer("storefront ci")
        } else {
            json!({ "name": "STOREFRONT CI" })
        };
        problem(send(&server, &owner, method, &path, &body).await, 409, "service_account_name_taken").await;
    }
    let list = server.get(&owner, "/service-accounts").await;
    let names: Vec<_> = list["data"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["Other", "Storefront CI"]);
    assert_eq!(list["pagination"]["total"], 2);

    let deleted = send(&server, &owner, Method::DELETE, &path, &json!({})).await;
    assert_eq!(success(deleted, 200).await["data"]["ended"], json!([]));
    problem(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 404, "not_found").await;
    problem(server.request(&owner, Method::GET, &path).send().await.unwrap(), 404, "not_found").await;
    success(send(&server, &owner, Method::POST, "/service-accounts", &developer("storefront ci")).await, 201)
        .await;

    let events = server.events(&pool, &owner).await;
    let of_account: Vec<_> = events
        .iter()
        .filter(|event| event["subject"] == format!("service-accounts/{}", id(&created)))
        .map(|event| (event["type"].as_str().unwrap(), event["data"]["actor"]["id"].as_str().unwrap()))
        .collect();
    let by = owner.user.as_str();
    assert_eq!(
        of_account,
        [("service_account.created", by), ("service_account.updated", by), ("service_account.deleted", by)]
    );
    server.end().await;
}

#[tokio::test]
async fn a_service_account_is_neither_an_owner_nor_a_member() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = json!({ "name": "Bot", "role": "owner" });
    wrong_field(send(&server, &owner, Method::POST, "/service-accounts", &body).await, "/role").await;
    let account = id(&server.post(&owner, "/service-accounts", developer("Bot")).await);
    let path = format!("/service-accounts/{account}");
    wrong_field(send(&server, &owner, Method::PATCH, &path, &json!({ "role": "owner" })).await, "/role")
        .await;

    // The members' operations do not reach it.
    let members = server.get(&owner, "/members").await;
    assert_eq!(members["pagination"]["total"], 1, "{members}");
    let path = format!("/members/{account}");
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::PATCH, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::POST, format!("{path}/sign-in-link")),
    ] {
        let body = if method == Method::PATCH { json!({ "role": "owner" }) } else { json!({}) };
        problem(send(&server, &owner, method, &path, &body).await, 404, "not_found").await;
    }
    // Nor do its operations reach persons or accounts of other organizations.
    let admin = server.member(&owner, "acme", "admin").await;
    let stranger = server.organization("globex").await;
    let foreign = id(&server.post(&stranger, "/service-accounts", developer("Bot")).await);
    for user in [&owner.user, &admin.user, &stranger.user, &foreign] {
        let path = format!("/service-accounts/{user}");
        for (method, path) in [
            (Method::GET, path.clone()),
            (Method::PATCH, path.clone()),
            (Method::DELETE, path.clone()),
            (Method::GET, format!("{path}/api-tokens")),
            (Method::POST, format!("{path}/api-tokens")),
        ] {
            let body = match method {
                Method::PATCH => json!({ "role": "viewer" }),
                _ if path.ends_with("api-tokens") => json!({ "name": "stolen" }),
                _ => json!({}),
            };
            let request = server.request(&admin, method.clone(), &path);
            let request = if method == Method::GET { request } else { request.json(&body) };
            problem(request.send().await.unwrap(), 404, "not_found").await;
        }
    }
    server.end().await;
}

#[tokio::test]
async fn two_requests_for_one_name_create_one_account() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = developer("Bot");
    let create = || send(&server, &owner, Method::POST, "/service-accounts", &body);
    let (one, two) = tokio::join!(create(), create());
    let mut statuses = [one.status().as_u16(), two.status().as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    server.end().await;
}

#[tokio::test]
async fn a_token_of_an_account_is_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let account = id(&server.post(&owner, "/service-accounts", developer("Bot")).await);
    let path = format!("/service-accounts/{account}/api-tokens");
    let made = server.post(&owner, &path, json!({ "name": "ci" })).await;
    assert_eq!((&made["kind"], &made["allowForce"]), (&json!("ci"), &json!(false)));
    assert_eq!(made["scopes"], json!(["read", "hold", "deploy", "start"]));
    assert_eq!((&made["userId"], &made["userName"]), (&json!(account), &json!("Bot")));
    assert_eq!(made["maxSessions"], json!(null));
    let expires_at: jiff::Timestamp = made["expiresAt"].as_str().unwrap().parse().unwrap();
    assert!((in_hours(24 * 89)..in_hours(24 * 91)).contains(&expires_at), "{expires_at}");
    for (pointer, body) in [
        ("/kind", json!({ "name": "x", "kind": "user" })),
        ("/scopes", json!({ "name": "x", "scopes": ["read", "admin"] })),
        ("/expiresAt", json!({ "name": "x", "expiresAt": in_hours(24 * 367) })),
        ("/expiresAt", json!({ "name": "x", "expiresAt": in_hours(-1) })),
        ("/maxSessions", json!({ "name": "x", "maxSessions": 0 })),
        ("/maxSessions", json!({ "name": "x", "maxSessions": i64::from(MAX_SESSION_LIMIT) + 1 })),
        ("/pipelines", json!({ "name": "x", "pipelines": [] })),
    ] {
        wrong_field(send(&server, &owner, Method::POST, &path, &body).await, pointer).await;
    }
    let body = json!({ "name": "x", "kind": "agent", "expiresAt": in_hours(24 * 365), "maxSessions": 1000 });
    let other = server.post(&owner, &path, body).await;
    assert_eq!((&other["kind"], &other["maxSessions"]), (&json!("agent"), &json!(1000)));
    let list = server.get(&owner, &path).await;
    assert_eq!(list["pagination"]["total"], 2);
    assert!(list["data"].as_array().unwrap().iter().all(|token| token.get("token").is_none()));

    // A token of it is revoked like any other.
    let token_path = format!("/api-tokens/{}", id(&made));
    success(server.request(&owner, Method::DELETE, &token_path).send().await.unwrap(), 200).await;
    assert!(server.get(&owner, &token_path).await["data"]["revokedAt"].is_string());
    server.end().await;
}

#[tokio::test]
async fn a_token_permits_no_more_than_the_credential_that_makes_it() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let pipeline = server.pipeline(&owner, "Web").await;
    let account = id(&server.post(&owner, "/service-accounts", developer("Bot")).await);
    let path = format!("/service-accounts/{account}/api-tokens");
    let with = async |body: Value| {
        let made = server.post(&owner, "/api-tokens", body).await;
        Caller { token: made["token"].as_str().unwrap().to_owned(), ..owner.clone() }
    };
    let weak = with(
        json!({ "name": "weak", "allowForce": false, "scopes": ["read", "hold", "admin"], "maxSessions": 2,
                            "expiresAt": in_hours(1) }),
    )
    .await;
    for body in [
        json!({ "name": "x", "allowForce": true }),
        json!({ "name": "x", "scopes": ["read", "write"] }),
        json!({ "name": "x", "maxSessions": 3 }),
    ] {
        let refused = send(&server, &weak, Method::POST, &path, &body).await;
        problem(refused, 403, "token_exceeds_parent").await;
    }
    // Defaults are narrowed. The lifetime is not: the token stays when the admin leaves.
    let made = server.post(&weak, &path, json!({ "name": "x" })).await;
    assert_eq!((&made["scopes"], &made["maxSessions"]), (&json!(["read", "hold"]), &json!(2)));
    let expires_at: jiff::Timestamp = made["expiresAt"].as_str().unwrap().parse().unwrap();
    assert!(expires_at > in_hours(24 * 80), "{expires_at}");
    let limited = with(json!({ "name": "limited", "pipelines": [pipeline] })).await;
    problem(
        send(&server, &limited, Method::POST, &path, &json!({ "name": "x" })).await,
        403,
        "token_limited",
    )
    .await;

    // The account itself makes no tokens for the account, and none of kind `user`.
    let body = json!({ "name": "x", "scopes": ["read", "hold", "write"] });
    let made = server.post(&owner, &path, body).await;
    let own = Caller { token: made["token"].as_str().unwrap().to_owned(), user: account, ..owner.clone() };
    problem(send(&server, &own, Method::POST, &path, &json!({ "name": "x" })).await, 403, "forbidden").await;
    let body = json!({ "name": "x", "kind": "user" });
    problem(send(&server, &own, Method::POST, "/api-tokens", &body).await, 403, "token_exceeds_parent").await;
    server.end().await;
}

/// Tokens of one account can't see or revoke each other.
#[tokio::test]
async fn a_token_sees_its_own_family() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let account = id(&server.post(&owner, "/service-accounts", developer("Bot")).await);
    let path = format!("/service-accounts/{account}/api-tokens");
    let mut tokens = Vec::new();
    for name in ["one", "two"] {
        let body = json!({ "name": name, "scopes": ["read", "write"] });
        let made = server.post(&owner, &path, body).await;
        let token = made["token"].as_str().unwrap().to_owned();
        tokens.push(Caller { token, token_id: id(&made), user: account.clone(), ..owner.clone() });
    }
    let [one, two] = &tokens[..] else { unreachable!() };
    let child = server.post(one, "/api-tokens", json!({ "name": "child" })).await;
    assert_eq!(server.get(one, "/api-tokens").await["pagination"]["total"], 2);
    assert_eq!(server.get(two, "/api-tokens").await["pagination"]["total"], 1);
    for other in [one.token_id.clone(), id(&child)] {
        let path = format!("/api-tokens/{other}");
        for method in [Method::GET, Method::DELETE] {
            problem(server.request(two, method, &path).send().await.unwrap(), 404, "not_found").await;
        }
    }
    success(
        server.request(one, Method::DELETE, &format!("/api-tokens/{}", id(&child))).send().await.unwrap(),
        200,
    )
    .await;
    server.end().await;
}
