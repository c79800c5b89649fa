//! Thirteen clients that were written from the contract of the seed alone: what works for them, and what is refused. `docs/seed.md` has
//! them as a table.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fixture::{EnvironmentFixture, Reply};
use crate::support::COOKIE;
use crate::support::database::TestDatabase;

/// Sends a request to an address that is built by the client, with a body and headers of its own.
async fn send(
    fixture: &EnvironmentFixture,
    method: Method,
    address: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let url = format!("{}{address}", fixture.server.origin);
    let mut request = fixture.server.client.request(method, url).bearer_auth(&fixture.dev.token);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.body(body.to_owned()).send().await.unwrap();
    let status = response.status().as_u16();
    Reply { status, json: response.json().await.unwrap_or_default() }
}

fn base(fixture: &EnvironmentFixture) -> String {
    format!("/api/v1/organizations/acme/pipelines/{}/ephemeral-environments", fixture.pipeline)
}

async fn release(fixture: &EnvironmentFixture, session: &str) {
    fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
}

#[tokio::test]
async fn a_curl_without_a_content_type() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let sessions = format!("{}/qa-1/sessions", base(&fixture));
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let claimed = send(&fixture, Method::POST, &sessions, &form, r#"{"context":"by curl"}"#).await;
    release(&fixture, &claimed.session()).await;
    let claimed = send(&fixture, Method::POST, &sessions, &[], r#"{"context":"by curl"}"#).await;
    release(&fixture, &claimed.session()).await;
    fixture.end().await;
}

#[tokio::test]
async fn b_git_hooks_and_their_spellings_of_a_commit() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    let deploy = format!("/sessions/{session}/deploy");
    for commit in ["0123abc", "0123ABC", "0123abc\n", " 0123456789abcdef0123456789ABCDEF01234567\r\n"] {
        let sent = fixture.send(&fixture.dev, Method::POST, &deploy, json!({ "commitId": commit })).await;
        assert_eq!(sent.is(202)["data"]["commitId"], commit.trim().to_lowercase(), "{commit:?}");
    }
    for other in ["main", "HEAD", "v1.2.3", "012345", "feature/login", ""] {
        let sent = fixture.send(&fixture.dev, Method::POST, &deploy, json!({ "commitId": other })).await;
        let refused = sent.is(422);
        assert!(refused["detail"].as_str().unwrap().contains("`branch`"), "{other}: {refused}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn c_the_text_of_a_pull_request_as_context() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    for (context, stored) in [
        (json!("Checkout fix\n\nFixes the total.\r\n\t- tax"), json!("Checkout fix Fixes the total. - tax")),
        (json!(""), Value::Null),
        (json!(" \n"), Value::Null),
        (Value::Null, Value::Null),
    ] {
        let claimed = fixture.claim(&fixture.dev, json!({ "context": context })).await;
        assert_eq!(claimed.json["data"]["context"], stored, "{context}");
        release(&fixture, &claimed.session()).await;
    }
    fixture.claim(&fixture.dev, json!({ "context": "x".repeat(501) })).await.is(422);
    fixture.claim(&fixture.dev, json!({ "context": "bell \u{7}" })).await.is(422);
    fixture.end().await;
}

#[tokio::test]
async fn d_a_list_in_one_page_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let pipelines = "/api/v1/organizations/acme/pipelines";
    for query in ["limit=200", "limit=0", "limit=", "page=1", "_=1"] {
        send(&fixture, Method::GET, &format!("{pipelines}?{query}"), &[], "").await.is(422);
    }
    for query in ["page=0", "limit=500", "offset=20"] {
        let history = format!("{}/qa-1/history?{query}", base(&fixture));
        send(&fixture, Method::GET, &history, &[], "").await.is(422);
    }
    fixture.end().await;
}

#[tokio::test]
async fn e_the_statuses_of_success() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.is(201)["data"]["sessionId"].clone();
    let session = session.as_str().unwrap();
    let deploy = format!("/sessions/{session}/deploy");
    fixture.send(&fixture.dev, Method::POST, &deploy, json!({ "commitId": "0123abc" })).await.is(202);
    fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    fixture.end().await;
}

#[tokio::test]
async fn f_and_g_a_slash_at_the_end_and_no_prefix() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let with_prefix = base(&fixture);
    let without = with_prefix.trim_start_matches("/api/v1").to_owned();
    for (base, end) in [(&with_prefix, "/"), (&without, ""), (&without, "/")] {
        let call = async |method: Method, path: &str, body: &str| {
            send(&fixture, method, &format!("{base}{path}{end}"), &[], body).await
        };
        let list = call(Method::GET, "", "").await.is(200);
        assert_eq!(list["data"][0]["envName"], "qa-1", "{base}{end}");
        call(Method::GET, "/qa-1", "").await.is(200);
        call(Method::GET, "/qa-1/history", "").await.is(200);
        let session = call(Method::POST, "/qa-1/sessions", "{}").await.session();
        call(Method::GET, &format!("/qa-1/sessions/{session}"), "").await.is(200);
        let deploy = format!("/qa-1/sessions/{session}/deploy");
        call(Method::POST, &deploy, r#"{"commitId":"0123abc"}"#).await.is(202);
        call(Method::DELETE, &format!("/qa-1/sessions/{session}"), "").await.is(200);
        let forced = call(Method::POST, "/qa-1/force-claim", "{}").await.session();
        release(&fixture, &forced).await;
    }
    let pipelines = "/api/v1/organizations/acme/pipelines/";
    send(&fixture, Method::GET, pipelines, &[], "").await.is(200);
    send(&fixture, Method::GET, &format!("{pipelines}{}/?x=1", fixture.pipeline), &[], "").await.is(422);
    // One slash is a spelling; two are another address.
    send(&fixture, Method::GET, &format!("{pipelines}/"), &[], "").await.is(404);
    // Only ephemeral environments are served without the prefix: the seed leaves it open for them only.
    send(&fixture, Method::GET, "/organizations/acme/pipelines", &[], "").await.is(404);
    fixture.end().await;
}

#[tokio::test]
async fn h_the_envelope() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let claimed = fixture.claim(&fixture.dev, json!({})).await.is(201);
    assert!(claimed["data"]["sessionId"].is_string() && claimed.get("sessionId").is_none());
    let list = fixture.get(&fixture.dev, "//").await.is(200);
    assert!(list["data"].is_array() && list.get("environments").is_none());
    fixture.end().await;
}

#[tokio::test]
async fn i_a_client_that_was_restarted_claims_again() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    let refused = fixture.claim(&fixture.dev, json!({})).await.is(409);
    assert_eq!((&refused["code"], &refused["sessionId"]), (&json!("held_by_you"), &json!(session)));
    let mut actions = refused["actions"].as_array().unwrap().iter();
    let go_on = actions.find(|action| action["action"] == "continue").unwrap();
    let found = send(&fixture, Method::GET, go_on["href"].as_str().unwrap(), &[], "").await.is(200);
    assert_eq!((&found["data"]["sessionId"], &found["data"]["holding"]), (&json!(session), &json!(true)));
    fixture.end().await;
}

#[tokio::test]
async fn j_a_test_that_runs_longer_than_the_lease_sees_that_it_holds_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.age(3 * 3_600).await;
    let path = format!("/sessions/{session}");
    // As soon as the lease is over, before its end is recorded.
    assert_eq!(fixture.get(&fixture.dev, &path).await.is(200)["data"]["holding"], false);
    fixture.claim(&fixture.mate, json!({})).await.is(201);
    let read = fixture.get(&fixture.dev, &path).await.is(200);
    assert_eq!((&read["data"]["holding"], &read["data"]["overridden"]), (&json!(false), &json!(false)));
    assert_eq!(
        (&read["data"]["status"], &read["data"]["lock"]["status"]),
        (&json!("expired"), &json!("locked"))
    );
    fixture.end().await;
}

#[tokio::test]
async fn k_habits_that_do_no_harm() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let by_slug = "/api/v1/organizations/acme/pipelines/shop/ephemeral-environments";
    let claimed = send(&fixture, Method::POST, &format!("{by_slug}/qa-1/sessions"), &[], "").await;
    let session = format!("{by_slug}/qa-1/sessions/{}", claimed.session());
    let xml = [("accept", "application/xml")];
    send(&fixture, Method::GET, &session, &xml, "").await.is(200);
    for read in [by_slug.to_owned(), format!("{by_slug}/qa-1"), session.clone()] {
        send(&fixture, Method::GET, &format!("{read}?_=1763"), &[], "").await.is(200);
    }
    send(&fixture, Method::DELETE, &session, &[("content-type", "application/json")], r#"{"why":"done"}"#)
        .await
        .is(200);
    fixture.end().await;
}

#[tokio::test]
async fn l_fields_of_other_names_are_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    for (body, field) in
        [(json!({ "commit_id": "0123abc" }), "commit_id"), (json!({ "environment": "qa-1" }), "environment")]
    {
        let refused = fixture.claim(&fixture.dev, body).await.is(422);
        assert!(refused["detail"].as_str().unwrap().contains(field), "{refused}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn m_a_page_of_another_origin_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let url = format!("{}{}/qa-1", fixture.server.origin, base(&fixture));
    let preflight = fixture.server.client.request(Method::OPTIONS, &url);
    let preflight = preflight.header("origin", "https://shop.example").send().await.unwrap();
    assert_eq!(preflight.status(), StatusCode::METHOD_NOT_ALLOWED);
    let read = fixture.server.client.get(&url).bearer_auth(&fixture.dev.token);
    let read = read.header("origin", "https://shop.example").send().await.unwrap();
    assert!(read.headers().get("access-control-allow-origin").is_none());
    fixture.end().await;
}

/// The other spellings lead to the same rules: a page of another site uses neither of them with a person's cookie.
#[tokio::test]
async fn f_and_g_have_the_rules_of_the_address_that_they_stand_for() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let cookie = fixture.server.browser(&fixture.dev.user).await.replace(COOKIE, "__Host-greenroom=");
    let with_prefix = base(&fixture);
    let without = with_prefix.trim_start_matches("/api/v1");
    for address in [format!("{without}/qa-1/force-claim"), format!("{with_prefix}/qa-1/force-claim/")] {
        let request = fixture.server.client.post(format!("{}{address}", fixture.server.origin));
        let request = request.header("cookie", &cookie).header("origin", "https://evil.example");
        let refused = request.body("{}").send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{address}");
        assert_eq!(refused.json::<Value>().await.unwrap()["code"], "cross_site_request", "{address}");
        // Without a token there is nothing.
        let anonymous = fixture.server.client.post(format!("{}{address}", fixture.server.origin));
        assert_eq!(anonymous.send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{address}");
    }
    fixture.end().await;
}
