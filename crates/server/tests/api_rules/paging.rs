//! `limit` and `offset`: the pages, and invalid parameters, which are named.

use reqwest::Method;

use crate::requests::{problem, wrong_field};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

const LISTS: [&str; 5] = ["/pipelines", "/members", "/api-tokens", "/events", "/pipelines/web/versions"];

/// These lists are empty here: no pipeline of the tests has environments or grants, and there are no secrets, service
/// accounts, notices, freezes, groups, step registries, forges, approvals and failures.
const EMPTY_LISTS: [&str; 14] = [
    "/ephemeral-environments",
    "/environments",
    "/pipelines/web/environments",
    "/sessions",
    "/me/notices",
    "/secrets",
    "/service-accounts",
    "/freezes",
    "/groups",
    "/step-registries",
    "/forges",
    "/pipelines/web/grants",
    "/approvals",
    "/failures",
];

#[tokio::test]
async fn a_page_has_the_requested_limit_and_offset() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    for number in 10..35 {
        server.pipeline(&owner, &format!("p{number}")).await;
    }
    let slugs = async |query: &str| {
        let page = server.get(&owner, &format!("/pipelines{query}")).await;
        let slugs: Vec<String> =
            page["data"].as_array().unwrap().iter().map(|p| p["slug"].as_str().unwrap().to_owned()).collect();
        (slugs, page["pagination"].clone())
    };

    let (first, pagination) = slugs("").await;
    assert_eq!(pagination, serde_json::json!({ "limit": 20, "offset": 0, "total": 25 }));
    assert_eq!((first.len(), first[0].as_str(), first[19].as_str()), (20, "p10", "p29"));
    let (rest, pagination) = slugs("?offset=20").await;
    assert_eq!(pagination, serde_json::json!({ "limit": 20, "offset": 20, "total": 25 }));
    assert_eq!(rest, ["p30", "p31", "p32", "p33", "p34"]);
    let (one, _) = slugs("?limit=1&offset=24").await;
    assert_eq!(one, ["p34"]);
    assert_eq!(slugs("?limit=100").await.0.len(), 25);
    // All pages together have every record once.
    let mut all = Vec::new();
    for offset in (0..28).step_by(7) {
        all.extend(slugs(&format!("?limit=7&offset={offset}")).await.0);
    }
    assert_eq!(all, (10..35).map(|number| format!("p{number}")).collect::<Vec<_>>());
    server.end().await;
}

#[tokio::test]
async fn a_page_past_the_end_is_empty_with_the_total() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    server.events(&pool, &owner).await;
    for list in LISTS {
        let total = server.get(&owner, list).await["pagination"]["total"].clone();
        assert!(total.as_i64().is_some_and(|total| total >= 1), "{list}");
        for offset in [total.as_i64().unwrap(), 10_001, i64::from(i32::MAX), i64::MAX] {
            let page = server.get(&owner, &format!("{list}?offset={offset}&limit=100")).await;
            assert_eq!(page["data"], serde_json::json!([]), "{list} at {offset}");
            assert_eq!(page["pagination"]["total"], total, "{list} at {offset}");
            assert_eq!(page["pagination"]["offset"], offset, "{list}");
        }
    }
    for status in ["active", "stopped", "archived"] {
        let page = server.get(&owner, &format!("/pipelines?status={status}&offset={}", i64::MAX)).await;
        assert_eq!(page["data"], serde_json::json!([]), "{status}");
    }
    server.end().await;
}

#[tokio::test]
async fn out_of_range_and_unknown_parameters_are_named() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    for list in LISTS.into_iter().chain(EMPTY_LISTS) {
        for (query, name) in [
            ("limit=0", "limit"),
            ("limit=-1", "limit"),
            ("limit=101", "limit"),
            ("limit=abc", "limit"),
            ("limit=", "limit"),
            ("limit=1.5", "limit"),
            ("limit=1e1", "limit"),
            ("limit=%00", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("offset=-1", "offset"),
            ("offset=x", "offset"),
            ("offset=-99999999999999999999", "offset"),
            ("limit=5&offset=%20", "offset"),
        ] {
            let response =
                server.request(&owner, Method::GET, &format!("{list}?{query}")).send().await.unwrap();
            let refused = wrong_field(response, name).await;
            assert!(refused["detail"].as_str().unwrap().contains(name), "{list}?{query}: {refused}");
        }
        // The detail names the parameter.
        for (query, expected_text) in
            [("limt=5", "limt"), ("limit=5&page=2", "page"), ("limit=1&limit=2", "limit"), ("a", "`a`")]
        {
            let response =
                server.request(&owner, Method::GET, &format!("{list}?{query}")).send().await.unwrap();
            let refused = problem(response, 422, "invalid_request").await;
            assert!(
                refused["errors"][0]["detail"].as_str().unwrap().contains(expected_text),
                "{list}?{query}: {refused}"
            );
        }
    }
    server.end().await;
}

#[tokio::test]
async fn invalid_filters_are_named() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    for (path, name) in [
        ("/pipelines?status=running", "status"),
        ("/pipelines?status=", "status"),
        ("/api-tokens?all=yes", "all"),
        ("/sessions?userId=you", "userId"),
        ("/sessions?userId=", "userId"),
        ("/sessions?status=released", "status"),
        ("/sessions?status=active,", "status"),
        ("/sessions?status=active,all", "status"),
        ("/ephemeral-environments?holder=Ada", "holder"),
        ("/ephemeral-environments?status=held", "status"),
        ("/ephemeral-environments?pipelineId=a%2Fb", "pipelineId"),
        ("/ephemeral-environments?q=%00", "q"),
        ("/environments?kind=ephemeral", "kind"),
        ("/environments?pipelineId=a%2Fb", "pipelineId"),
        ("/environments?commitId=%25", "commitId"),
        ("/environments?commitId=____", "commitId"),
        ("/environments?commitId='", "commitId"),
        ("/environments?commitId=9F3C2A1", "commitId"),
        ("/environments?commitId=", "commitId"),
        ("/deployments?commitId=____", "commitId"),
        ("/deployments?commitId=9f_c2a1", "commitId"),
        ("/events?category=secret", "category"),
        ("/events?actor=you", "actor"),
        ("/deployments?status=cancelled", "status"),
        ("/deployments?status=", "status"),
        ("/deployments?status=queued,rolling_back", "status"),
        ("/approvals?status=open", "status"),
        ("/failures?verdict=flakey", "verdict"),
        ("/failures?to=yesterday", "to"),
        ("/events?actor=pip_0190a0b0-0000-7000-8000-000000000001", "actor"),
        ("/events?from=yesterday", "from"),
        ("/events?to=2026-01-01", "to"),
        ("/events?type=%00", "type"),
        ("/events?type=session", "type"),
        ("/events?type=session.claimd", "type"),
        ("/events?type=session.claimed,", "type"),
        ("/events?type=session.claimed,session", "type"),
        ("/events/stream?type=no.such", "type"),
        ("/events?subject=a%0ab", "subject"),
        ("/events?after=-1", "after"),
        ("/events?after=x", "after"),
        ("/events?after=0&offset=0", "offset"),
        ("/events/stream?after=-1", "after"),
        ("/events/stream?category=x", "category"),
        ("/events/stream?type=%00", "type"),
    ] {
        let response = server.request(&owner, Method::GET, path).send().await.unwrap();
        wrong_field(response, name).await;
    }
    for last in ["abc", "", "-1", "1.5", "99999999999999999999", "ä"] {
        let request =
            server.request(&owner, Method::GET, "/events/stream").header("last-event-id", last.as_bytes());
        problem(request.send().await.unwrap(), 400, "invalid_header").await;
    }
    // Unusual but valid: nothing is found.
    for path in [
        "/ephemeral-environments?q=%25'%22;--",
        "/ephemeral-environments?label=,&pipelineId=no-such",
        "/environments?kind=lasting&pipelineId=no-such&commitId=0",
        "/sessions?userId=usr_0190a0b0-0000-7000-8000-000000000001",
        "/events?subject=%25'%22;--",
        "/events?from=2999-01-01T00:00:00Z",
        "/events?to=-000001-01-01T00:00:00Z",
    ] {
        assert_eq!(server.get(&owner, path).await["pagination"]["total"], 0, "{path}");
    }
    server.end().await;
}
