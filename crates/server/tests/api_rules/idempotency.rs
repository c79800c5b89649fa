//! `Idempotency-Key`: a repeated request takes effect once.

use std::collections::HashSet;

use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::requests::{header, new_pipeline, problem, success};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

async fn keyed(
    server: &TestServer,
    caller: &Caller,
    method: Method,
    path: &str,
    key: &str,
    body: &Value,
) -> Response {
    server.request(caller, method, path).header("idempotency-key", key).json(body).send().await.unwrap()
}

/// Returns the parts of a response that a client sees.
async fn visible_parts(response: Response) -> (u16, String, String, String) {
    let (etag, kind) = (header(&response, "etag"), header(&response, "content-type"));
    (response.status().as_u16(), etag, kind, response.text().await.unwrap())
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_response() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let (body, head) = (new_pipeline("Web"), server.events(&pool, &owner).await.len());
    let first = visible_parts(keyed(&server, &owner, Method::POST, "/pipelines", "k1", &body).await).await;
    assert_eq!((first.0, first.1.as_str()), (201, "\"1\""));
    // The stored response does not contain later changes of the record.
    let update = json!({ "name": "Shop" });
    let changed =
        visible_parts(keyed(&server, &owner, Method::PUT, "/pipelines/web", "k1", &update).await).await;
    assert_eq!((changed.0, changed.1.as_str()), (200, "\"2\""));
    for _ in 0..3 {
        assert_eq!(
            visible_parts(keyed(&server, &owner, Method::POST, "/pipelines", "k1", &body).await).await,
            first
        );
        assert_eq!(
            visible_parts(keyed(&server, &owner, Method::PUT, "/pipelines/web", "k1", &update).await).await,
            changed
        );
    }
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 1);
    let types: Vec<Value> =
        server.events(&pool, &owner).await.iter().skip(head).map(|event| event["type"].clone()).collect();
    assert_eq!(types, ["pipeline.created", "pipeline.updated"]);

    // Responses to commands without a body are stored as well.
    let delete =
        || server.request(&owner, Method::DELETE, "/pipelines/web").header("idempotency-key", "gone").send();
    let gone = visible_parts(delete().await.unwrap()).await;
    assert_eq!(gone.0, 200);
    assert_eq!(visible_parts(delete().await.unwrap()).await, gone);
    server.end().await;
}

#[tokio::test]
async fn a_key_with_another_body_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    success(keyed(&server, &owner, Method::POST, "/pipelines", "k", &new_pipeline("One")).await, 201).await;
    for other in [
        new_pipeline("Two"),
        json!({ "name": "One", "slug": "one", "definition": crate::support::DEFINITION }),
    ] {
        let refused = keyed(&server, &owner, Method::POST, "/pipelines", "k", &other).await;
        problem(refused, 422, "idempotency_key_reused").await;
    }
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 1);
    server.end().await;
}

#[tokio::test]
async fn of_many_concurrent_requests_one_takes_effect() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    for round in 0..5 {
        let (key, body) = (format!("key-{round}"), new_pipeline(&format!("Round {round}")));
        let all = join_all((0..20).map(|_| keyed(&server, &owner, Method::POST, "/pipelines", &key, &body)));
        let mut made = HashSet::new();
        for response in all.await {
            if response.status() == 201 {
                made.insert(success(response, 201).await["data"]["id"].as_str().unwrap().to_owned());
            } else {
                assert_eq!(header(&response, "retry-after"), "1");
                problem(response, 409, "idempotency_in_progress").await;
            }
        }
        assert_eq!(made.len(), 1, "every response has the same record");
        let again = success(keyed(&server, &owner, Method::POST, "/pipelines", &key, &body).await, 201).await;
        assert!(made.contains(again["data"]["id"].as_str().unwrap()));
        assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], round + 1);
    }
    assert_eq!(server.head(&pool, &owner).await, head + 5);
    server.end().await;
}

#[tokio::test]
async fn a_request_concurrent_with_the_first_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    // The first request waits for this lock and holds its key meanwhile.
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("select 1 from pipelines for update").execute(&mut *holding).await.unwrap();
    let (path, body) = ("/pipelines/web/stop", json!({ "mode": "pause" }));
    let first = keyed(&server, &owner, Method::POST, path, "k", &body);
    let second = async {
        let locked = crate::support::eventually(std::time::Duration::from_secs(2), || async {
            let waiting = "select count(*) from pg_stat_activity
                           where datname = current_database() and wait_event_type = 'Lock'";
            sqlx::query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() == 1
        });
        assert!(locked.await);
        let second = keyed(&server, &owner, Method::POST, path, "k", &body).await;
        // The same key with another path is a different request.
        success(keyed(&server, &owner, Method::POST, "/pipelines", "k", &new_pipeline("Shop")).await, 201)
            .await;
        holding.rollback().await.unwrap();
        second
    };
    let (first, second) = tokio::join!(first, second);
    problem(second, 409, "idempotency_in_progress").await;
    let first = success(first, 200).await;
    assert_eq!(success(keyed(&server, &owner, Method::POST, path, "k", &body).await, 200).await, first);
    server.end().await;
}

#[tokio::test]
async fn a_key_is_scoped_to_user_method_and_path() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (acme, other) = (server.organization("acme").await, server.organization("other").await);
    let colleague = server.member(&acme, "acme", "maintainer").await;
    success(keyed(&server, &acme, Method::POST, "/pipelines", "k", &new_pipeline("Mine")).await, 201).await;
    success(keyed(&server, &colleague, Method::POST, "/pipelines", "k", &new_pipeline("Ours")).await, 201)
        .await;
    success(keyed(&server, &other, Method::POST, "/pipelines", "k", &new_pipeline("Mine")).await, 201).await;
    success(keyed(&server, &acme, Method::POST, "/pipelines/mine/stop", "k", &json!({})).await, 200).await;
    success(keyed(&server, &acme, Method::POST, "/pipelines/ours/stop", "k", &json!({})).await, 200).await;
    success(keyed(&server, &acme, Method::PUT, "/pipelines/mine", "k", &json!({ "name": "M" })).await, 200)
        .await;
    assert_eq!(server.get(&acme, "/pipelines?status=stopped").await["pagination"]["total"], 2);

    // A key belongs to the user, so another token of the same user shares it.
    let made = server.post(&acme, "/api-tokens", json!({ "name": "second" })).await;
    let second = Caller { token: made["token"].as_str().unwrap().to_owned(), ..acme.clone() };
    let again = keyed(&server, &second, Method::POST, "/pipelines", "k", &new_pipeline("Mine")).await;
    assert_eq!(success(again, 201).await["data"]["status"], "active");
    server.end().await;
}

#[tokio::test]
async fn failures_are_not_stored() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let first = server.pipeline(&owner, "Web").await;
    let body = new_pipeline("Web");
    problem(keyed(&server, &owner, Method::POST, "/pipelines", "k", &body).await, 409, "slug_taken").await;
    problem(
        keyed(&server, &owner, Method::POST, "/pipelines", "k", &json!({})).await,
        422,
        "invalid_request",
    )
    .await;
    server.request(&owner, Method::DELETE, &format!("/pipelines/{first}")).send().await.unwrap();
    success(keyed(&server, &owner, Method::POST, "/pipelines", "k", &body).await, 201).await;
    server.end().await;
}

#[tokio::test]
async fn keys_have_a_format_and_expire() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let longest = "k".repeat(255);
    for (number, key) in
        ["a b", "\"quoted\"", "'; drop table pipelines; --", &longest].into_iter().enumerate()
    {
        let body = new_pipeline(&format!("P{number}"));
        success(keyed(&server, &owner, Method::POST, "/pipelines", key, &body).await, 201).await;
        success(keyed(&server, &owner, Method::POST, "/pipelines", key, &body).await, 201).await;
    }
    for key in ["", "ä", &"k".repeat(256), &"k".repeat(5_000)] {
        let request =
            server.request(&owner, Method::POST, "/pipelines").header("idempotency-key", key.as_bytes());
        problem(request.json(&new_pipeline("Bad")).send().await.unwrap(), 400, "invalid_header").await;
    }
    // After a day a key can be used again.
    sqlx::query("update idempotency_keys set created_at = created_at - interval '25 hours'")
        .execute(&pool)
        .await
        .unwrap();
    success(keyed(&server, &owner, Method::POST, "/pipelines", "a b", &new_pipeline("New")).await, 201).await;
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 5);
    server.end().await;
}

#[tokio::test]
async fn a_repeated_request_does_not_return_the_secret() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = json!({ "name": "ci", "kind": "ci" });
    let first = success(keyed(&server, &owner, Method::POST, "/api-tokens", "k", &body).await, 201).await;
    let secret = first["data"]["token"].as_str().unwrap();
    let again = success(keyed(&server, &owner, Method::POST, "/api-tokens", "k", &body).await, 201).await;
    assert_eq!(again["data"]["id"], first["data"]["id"]);
    assert_eq!(again["data"]["token"], Value::Null);
    let kept: String = sqlx::query_scalar("select string_agg(body, '') from idempotency_keys")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(!kept.contains(secret));
    server.end().await;
}

/// Slug, id and percent-encoding are spellings of the same request.
#[tokio::test]
async fn a_key_is_bound_to_the_record_and_not_to_the_spelling_of_its_path() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let post = async |path: &str, body: Value| {
        let url = format!("{}{path}", server.base);
        let request = server.client.post(url).bearer_auth(&owner.token).header("idempotency-key", "k");
        visible_parts(request.json(&body).send().await.unwrap()).await
    };
    let body = json!({ "name": "ci" });
    let first = post("/organizations/acme/api-tokens", body.clone()).await;
    assert_eq!(first.0, 201, "{first:?}");
    let first: Value = serde_json::from_str(&first.3).unwrap();
    for organization in ["%61cme", "acm%65", owner.organization.as_str()] {
        let again = post(&format!("/organizations/{organization}/api-tokens"), body.clone()).await;
        let again: Value = serde_json::from_str(&again.3).unwrap();
        assert_eq!(again["data"]["id"], first["data"]["id"], "{organization}");
    }

    let definition = "ephemeralEnvironments: { qa-1: {} }\nstages: { b: { steps: [{ image: a, run: b }] } }";
    let made = server.post(&owner, "/pipelines", json!({ "name": "Web", "definition": definition })).await;
    let id = made["id"].as_str().unwrap();
    let claim = |pipeline: &str, environment: &str| {
        format!("/organizations/acme/pipelines/{pipeline}/ephemeral-environments/{environment}/sessions")
    };
    let first = post(&claim("web", "qa-1"), json!({})).await;
    assert_eq!(first.0, 201, "{first:?}");
    let session: Value = serde_json::from_str(&first.3).unwrap();
    for path in [claim(id, "qa-1"), claim("%77eb", "qa-1"), claim("web", "q%61-1"), claim("web", "qa%2D1")] {
        let again = post(&path, json!({})).await;
        assert_eq!(again.0, 201, "{path}");
        let again: Value = serde_json::from_str(&again.3).unwrap();
        assert_eq!(again["data"]["sessionId"], session["data"]["sessionId"], "{path}");
    }
    // Another pipeline is another request.
    server.post(&owner, "/pipelines", json!({ "name": "Other", "definition": definition })).await;
    let other = post(&claim("other", "qa-1"), json!({})).await;
    assert_eq!(other.0, 201);
    assert_ne!(other.3, first.3);

    // A repetition is found although the request itself has changed the slug.
    let body = json!({ "slug": "moved" });
    let renamed =
        visible_parts(keyed(&server, &owner, Method::PUT, "/pipelines/web", "r", &body).await).await;
    assert_eq!(renamed.0, 200, "{renamed:?}");
    for spelling in ["web", "moved", id] {
        let path = format!("/pipelines/{spelling}");
        assert_eq!(
            visible_parts(keyed(&server, &owner, Method::PUT, &path, "r", &body).await).await,
            renamed
        );
    }
    server.end().await;
}
