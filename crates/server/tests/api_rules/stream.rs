//! The event stream: each event arrives within a second, once, and only if it matches the filter.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_app::limits::ClientTiming;
use reqwest::Method;
use serde_json::json;

use crate::requests::{new_pipeline, problem};
use crate::slow_clients::start_with;
use crate::sse::{Message, Read, Stream};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

/// Events usually arrive much earlier; the margin is for a busy test machine.
const MAX_DELAY: Duration = Duration::from_secs(1);

#[tokio::test]
async fn an_event_arrives_within_a_second() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    let mut stream = Stream::open(&server, &owner, "").await;
    let mut delays = Vec::new();
    for number in 0..20 {
        let id = server.pipeline(&owner, &format!("P{number}")).await;
        let responded = Instant::now();
        let message = stream.message().await;
        delays.push(responded.elapsed());
        assert_eq!((message.id, message.event.as_str()), (head + number + 1, "pipeline.created"));
        assert_eq!(message.data["subject"], format!("pipelines/{id}"));
        assert_eq!(message.data["sequence"], message.id);
    }
    delays.sort_unstable();
    assert!(delays[19] < MAX_DELAY, "the slowest took {:?}, half of them {:?}", delays[19], delays[10]);
    assert!(delays[10] < Duration::from_millis(200), "half of them took {:?}", delays[10]);
    // The stream has the same events as the list.
    let list = server.events(&pool, &owner).await;
    let mut again = Stream::open(&server, &owner, "?after=0").await;
    let streamed: Vec<_> = again.messages(list.len()).await.into_iter().map(|message| message.data).collect();
    assert_eq!(streamed, list);
    server.end().await;
}

#[tokio::test]
async fn events_of_another_server_arrive_as_well() {
    let (_database, pool) = TestDatabase::create().await;
    let (here, there) = (TestServer::start(&pool).await, TestServer::start(&pool).await);
    let owner = here.organization("acme").await;
    let head = here.head(&pool, &owner).await;
    let mut stream = Stream::open(&there, &owner, "").await;
    for number in 0..10 {
        here.pipeline(&owner, &format!("P{number}")).await;
        let responded = Instant::now();
        assert_eq!(stream.message().await.id, head + number + 1);
        assert!(responded.elapsed() < MAX_DELAY, "{:?}", responded.elapsed());
    }
    here.end().await;
    there.end().await;
}

#[tokio::test]
async fn a_filter_passes_only_matching_events() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let member = server.member(&owner, "acme", "maintainer").await;
    let a = server.pipeline(&owner, "A").await;
    let head = server.head(&pool, &owner).await;
    let queries = [
        String::new(),
        "?type=pipeline.stopped".to_owned(),
        "?category=audit".to_owned(),
        "?category=deployment".to_owned(),
        format!("?subject=pipelines/{a}"),
        format!("?actor={}", member.user),
        format!("?subject=pipelines/{a}&type=pipeline.resumed"),
    ];
    let mut live = Vec::new();
    for query in &queries {
        live.push(Stream::open(&server, &owner, query).await);
    }
    server.pipeline(&member, "B").await;
    // Twice, so that an event that should have been filtered would arrive before one that matches.
    for round in 0..2 {
        for (caller, path) in [
            (&owner, "/pipelines/a/stop"),
            (&member, "/pipelines/b/stop"),
            (&owner, "/pipelines/a/resume"),
            (&member, "/pipelines/b/resume"),
        ] {
            server.post(caller, path, json!({})).await;
        }
        let renamed =
            server.request(&owner, Method::PATCH, "").json(&json!({ "name": format!("Acme {round}") }));
        assert_eq!(renamed.send().await.unwrap().status(), 200);
    }
    let all: Vec<Message> = Stream::open(&server, &owner, &format!("?after={head}")).await.messages(11).await;
    let expected: [Vec<usize>; 7] = [
        (0..11).collect(),
        vec![1, 2, 6, 7],
        vec![5, 10],
        vec![0, 1, 2, 3, 4, 6, 7, 8, 9],
        vec![1, 3, 6, 8],
        vec![0, 2, 4, 7, 9],
        vec![3, 8],
    ];
    for ((query, live), expected) in queries.iter().zip(&mut live).zip(expected) {
        let expected: Vec<Message> = expected.into_iter().map(|number| all[number].clone()).collect();
        assert_eq!(live.messages(expected.len()).await, expected, "live: {query}");
        let separator = if query.is_empty() { "?" } else { "&" };
        let mut late = Stream::open(&server, &owner, &format!("{query}{separator}after={head}")).await;
        assert_eq!(late.messages(expected.len()).await, expected, "from the history: {query}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_viewer_receives_no_audit_events() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    server.pipeline(&owner, "A").await;
    server.events_are_sequenced(&pool).await;
    let audit =
        server.get(&owner, "/events?category=audit").await["data"][0]["id"].as_str().unwrap().to_owned();
    let mut live = Stream::open(&server, &viewer, "").await;
    for number in 0..3 {
        server.post(&owner, "/api-tokens", json!({ "name": format!("t{number}") })).await;
        server.pipeline(&owner, &format!("P{number}")).await;
    }
    let mut late = Stream::open(&server, &viewer, "?after=0").await;
    // Of audit events, every member reads who admitted whom.
    assert_eq!(late.message().await.event, "member.added");
    assert_eq!(late.message().await.data["data"]["after"]["slug"], "a");
    for stream in [&mut live, &mut late] {
        for (number, message) in stream.messages(3).await.into_iter().enumerate() {
            assert_eq!(message.event, "pipeline.created");
            assert_eq!(message.data["data"]["after"]["slug"], format!("p{number}"));
        }
    }
    for path in ["/events?category=audit", "/events/stream?category=audit"] {
        let refused = server.request(&viewer, Method::GET, path).send().await.unwrap();
        problem(refused, 403, "forbidden").await;
    }
    let hidden = server.request(&viewer, Method::GET, &format!("/events/{audit}")).send().await.unwrap();
    problem(hidden, 404, "not_found").await;
    let list = server.get(&viewer, "/events?limit=100").await;
    assert_eq!(list["pagination"]["total"], 5, "the total has only visible events");
    server.end().await;
}

#[tokio::test]
async fn other_organizations_receive_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (acme, other) = (server.organization("acme").await, server.organization("other").await);
    let head = server.head(&pool, &other).await;
    let mut theirs = Stream::open(&server, &other, "").await;
    server.pipeline(&acme, "Secret").await;
    let id = server.pipeline(&other, "Open").await;
    let received = theirs.message().await;
    assert_eq!((received.id, &received.data["subject"]), (head + 1, &json!(format!("pipelines/{id}"))));
    // Their history has no such event either.
    let mut late = Stream::open(&server, &other, "?after=0").await;
    for message in late.messages(usize::try_from(head).unwrap() + 1).await {
        assert_eq!(message.data["source"], format!("/organizations/{}", other.organization));
    }
    server.end().await;
}

#[tokio::test]
async fn heavy_two_hundred_streams_receive_an_event() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    // With two tokens, because one may have a hundred streams.
    let viewer = server.member(&owner, "acme", "admin").await;
    let head = server.head(&pool, &owner).await.max(head);
    let callers = [&owner, &viewer];
    let mut streams = Vec::new();
    // A stream counts as a request until it is open, and a token may have 64 of those.
    for _ in 0..4 {
        let opened = (0..50).map(|number| Stream::open(&server, callers[number % 2], ""));
        streams.extend(join_all(opened).await);
    }
    for number in 0..3 {
        server.post(&owner, "/pipelines", new_pipeline(&format!("P{number}"))).await;
        let created = Instant::now();
        let received = join_all(streams.iter_mut().map(Stream::message)).await;
        assert!(received.iter().all(|message| message.id == head + number + 1));
        assert!(created.elapsed() < Duration::from_secs(5), "{:?}", created.elapsed());
    }
    server.end().await;
}

#[tokio::test]
async fn waits_an_idle_stream_has_a_heartbeat() {
    let (_database, pool) = TestDatabase::create().await;
    let (deadline, interval) = (Duration::from_secs(3), Duration::from_secs(4));
    let timing = ClientTiming { stream_heartbeat_interval: interval, ..ClientTiming::default() };
    let server = start_with(&pool, deadline, timing).await;
    let owner = server.organization("acme").await;
    server.events(&pool, &owner).await;
    let mut stream = Stream::open(&server, &owner, "").await;
    assert_eq!(stream.read(2 * interval).await, Read::Comment);
    // The deadline of requests is past; a stream has none.
    server.pipeline(&owner, "Late").await;
    assert_eq!(stream.message().await.event, "pipeline.created");
    server.end().await;
}
