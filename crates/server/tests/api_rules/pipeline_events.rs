//! Events: each change is recorded once, with actor, previous and new state, and reason; without a change
//! there is no event.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::requests::{header, new_pipeline, problem};
use crate::support::database::TestDatabase;
use crate::support::{Caller, DEFINITION, TestServer};

async fn send(server: &TestServer, caller: &Caller, method: Method, path: &str, body: Value) -> String {
    let response = server.request(caller, method, path).json(&body).send().await.unwrap();
    assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
    header(&response, "x-request-id")
}

#[tokio::test]
async fn every_change_is_recorded_in_order() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.events(&pool, &owner).await.len();
    let id = server.pipeline(&owner, "Web").await;
    let path = format!("/pipelines/{id}");
    let state = |name: &str, repository: Value, status: &str, mode: Value, version: i64| {
        json!({ "id": id, "slug": "web", "name": name, "repository": repository, "status": status, "stopMode": mode,
                "definitionVersion": version })
    };
    let none = Value::Null;
    let states = [
        state("Web", none.clone(), "active", none.clone(), 1),
        state("Shop", json!("https://git.test/x"), "active", none.clone(), 1),
        state("Shop", json!("https://git.test/x"), "active", none.clone(), 2),
        state("Shop", json!("https://git.test/x"), "stopped", json!("drain"), 2),
        state("Shop", json!("https://git.test/x"), "stopped", json!("cancel"), 2),
        state("Shop", json!("https://git.test/x"), "stopped", json!("cancel"), 2),
        state("Shop", json!("https://git.test/x"), "active", none.clone(), 2),
        state("Shop", json!("https://git.test/x"), "archived", none.clone(), 2),
    ];
    let stop = format!("{path}/stop");
    let resume = format!("{path}/resume");
    let second = json!({ "definition": format!("{DEFINITION}# 2") });
    let put = json!({ "name": "Shop", "repository": "https://git.test/x" });
    let mut requests = Vec::new();
    // Each change, followed by the same request again, which changes nothing.
    for (method, path, body) in [
        (Method::PUT, &path, put),
        (Method::PUT, &path, second),
        (Method::POST, &stop, json!({ "reason": "red" })),
        (Method::POST, &stop, json!({ "mode": "cancel", "reason": "redder" })),
        (Method::POST, &stop, json!({ "mode": "cancel", "reason": "reddest" })),
        (Method::POST, &resume, json!({ "reason": "green" })),
        (Method::DELETE, &path, json!({})),
    ] {
        requests.push(send(&server, &owner, method.clone(), path, body.clone()).await);
        send(&server, &owner, method, path, body).await;
    }
    let events: Vec<Value> = server.events(&pool, &owner).await.into_iter().skip(head).collect();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "pipeline.created",
            "pipeline.updated",
            "pipeline.updated",
            "pipeline.stopped",
            "pipeline.stopped",
            "pipeline.stopped",
            "pipeline.resumed",
            "pipeline.archived"
        ]
    );
    let reasons = [
        none.clone(),
        none.clone(),
        none.clone(),
        json!("red"),
        json!("redder"),
        json!("reddest"),
        json!("green"),
        none.clone(),
    ];
    let actor = json!({ "id": owner.user, "name": "Owner", "kind": "user", "tokenId": owner.token_id });
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence"], head + number + 1, "dense");
        assert_eq!(event["specversion"], "1.0");
        assert_eq!(event["source"], format!("/organizations/{}", owner.organization));
        assert_eq!(event["subject"], format!("pipelines/{id}"));
        assert_eq!(event["category"], "deployment");
        assert_eq!(event["data"]["actor"], actor);
        assert_eq!(
            event["data"]["before"],
            number.checked_sub(1).map_or(&none, |before| &states[before]).clone()
        );
        assert_eq!(event["data"]["after"], states[number]);
        assert_eq!(event["data"]["reason"], reasons[number]);
        if number > 0 {
            assert_eq!(event["data"]["context"]["requestId"], requests[number - 1].as_str());
        }
        let one = server.get(&owner, &format!("/events/{}", event["id"].as_str().unwrap())).await;
        assert_eq!(one["data"], *event);
    }
    assert!(events.windows(2).all(|pair| pair[0]["time"].as_str() <= pair[1]["time"].as_str()));
    server.end().await;
}

#[tokio::test]
async fn refused_changes_record_no_event() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    server.pipeline(&owner, "Web").await;
    let before = server.events(&pool, &owner).await;
    let post = |path: &str, body: Value| server.request(&owner, Method::POST, path).json(&body).send();
    problem(post("/pipelines", new_pipeline("Web")).await.unwrap(), 409, "slug_taken").await;
    let wrong = json!({ "name": "x", "definition": "" });
    problem(post("/pipelines", wrong).await.unwrap(), 422, "invalid_definition").await;
    problem(post("/pipelines/no/stop", json!({})).await.unwrap(), 404, "not_found").await;
    let forbidden = server.request(&viewer, Method::POST, "/pipelines/web/stop").send().await.unwrap();
    problem(forbidden, 403, "forbidden").await;
    let stale =
        server.request(&owner, Method::POST, "/pipelines/web/stop").header("if-match", "\"9\"").send().await;
    problem(stale.unwrap(), 412, "precondition_failed").await;
    post("/pipelines/validate", json!({ "definition": DEFINITION })).await.unwrap();
    assert_eq!(server.events(&pool, &owner).await, before);
    server.end().await;
}

#[tokio::test]
async fn concurrent_changes_of_a_record_are_recorded_in_commit_order() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = server.pipeline(&owner, "Web").await;
    let all = join_all((0..30).map(|number| {
        let (method, path, body) = match number % 3 {
            0 => (Method::POST, "/pipelines/web/stop", json!({})),
            1 => (Method::POST, "/pipelines/web/resume", json!({})),
            _ => (Method::PUT, "/pipelines/web", json!({ "name": format!("Web {number}") })),
        };
        server.request(&owner, method, path).json(&body).send()
    }));
    assert!(all.await.into_iter().all(|response| response.unwrap().status() == 200));
    let events = server.events(&pool, &owner).await;
    let chain: Vec<&Value> =
        events.iter().filter(|event| event["subject"] == format!("pipelines/{id}")).collect();
    assert!(chain.len() >= 11, "{}", chain.len());
    for pair in chain.windows(2) {
        assert_eq!(
            pair[0]["data"]["after"], pair[1]["data"]["before"],
            "`before` of each event is `after` of the previous one"
        );
        assert_ne!(pair[1]["data"]["before"], pair[1]["data"]["after"]);
    }
    let now = server.get(&owner, "/pipelines/web").await;
    assert_eq!(chain.last().unwrap()["data"]["after"]["name"], now["data"]["name"]);
    server.end().await;
}

#[tokio::test]
async fn events_can_be_filtered() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let member = server.member(&owner, "acme", "maintainer").await;
    // All events up to this one are audit events.
    let head = server.head(&pool, &owner).await;
    let (a, b) = (server.pipeline(&owner, "A").await, server.pipeline(&member, "B").await);
    server.post(&member, "/pipelines/a/stop", json!({})).await;
    let all = server.events(&pool, &owner).await;
    let time = all[usize::try_from(head).unwrap() + 1]["time"].as_str().unwrap();
    let after = head + 1;
    for (query, sequences) in [
        ("limit=3".to_owned(), vec![3, 2, 1]),
        ("category=deployment".to_owned(), vec![3, 2, 1]),
        ("category=audit&type=pipeline.created".to_owned(), vec![]),
        ("type=pipeline.created".to_owned(), vec![2, 1]),
        (format!("subject=pipelines/{a}"), vec![3, 1]),
        (format!("subject=pipelines/{b}&type=pipeline.stopped"), vec![]),
        (format!("actor={}", member.user), vec![3, 2]),
        (format!("from={time}"), vec![3, 2]),
        (format!("to={time}&category=deployment"), vec![1]),
        (format!("from={time}&to={time}"), vec![]),
        (format!("after={head}"), vec![1, 2, 3]),
        ("after=0&category=deployment".to_owned(), vec![1, 2, 3]),
        (format!("after={head}&limit=2"), vec![1, 2]),
        (format!("after={after}&actor={}", member.user), vec![2, 3]),
        (format!("after={}", i64::MAX), vec![]),
        ("offset=1&limit=2".to_owned(), vec![2, 1]),
    ] {
        let page = server.get(&owner, &format!("/events?{query}")).await;
        let found =
            page["data"].as_array().unwrap().iter().map(|event| event["sequence"].as_i64().unwrap() - head);
        assert_eq!(found.collect::<Vec<_>>(), sequences, "{query}");
    }
    server.end().await;
}
