//! Resuming a stream: no event is lost or repeated, and a gap in the history sends a reset.

use serde_json::json;

use crate::sse::{Message, Stream};
use crate::support::database::TestDatabase;
use crate::support::{TestServer, record_large_events};
use crate::totals::write_history;

fn ids(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.id).collect()
}

#[tokio::test]
async fn a_stream_resumes_after_the_last_event() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    let mut stream = Stream::resume(&server, &owner, "", head - 1).await;
    let (mut received, mut made) = (ids(&stream.messages(1).await), 0);
    // Disconnected after one event, with more events before, during and after the disconnection.
    for _ in 0..8 {
        let making = async {
            for number in 0..3 {
                server.pipeline(&owner, &format!("P{}", made + number)).await;
            }
        };
        let reading = async {
            received.push(stream.message().await.id);
            drop(stream);
            Stream::resume(&server, &owner, "", *received.last().unwrap()).await
        };
        (_, stream) = tokio::join!(making, reading);
        made += 3;
    }
    let rest = usize::try_from(made).unwrap() + 1 - received.len();
    received.extend(ids(&stream.messages(rest).await));
    assert_eq!(received, (head..=head + i64::from(made)).collect::<Vec<_>>());
    server.end().await;
}

#[tokio::test]
async fn a_long_history_is_complete_and_in_order() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    // More than two pages of the history.
    write_history(&pool, &owner, 1_299).await;
    let mut whole = Stream::open(&server, &owner, "?after=0").await;
    let mut stopped = Stream::resume(&server, &owner, "?type=pipeline.stopped", 0).await;
    server.pipeline(&owner, "Live").await;
    server.post(&owner, "/pipelines/live/stop", json!({})).await;
    let (last, count) = (head + 1_301, usize::try_from(head).unwrap() + 1_301);
    assert_eq!(ids(&whole.messages(count).await), (1..=last).collect::<Vec<_>>());
    let expected: Vec<i64> = (1..=129).map(|n| head + n * 10).chain([last]).collect();
    assert_eq!(ids(&stopped.messages(130).await), expected);
    server.end().await;
}

#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    let mut stream = Stream::open(&server, &owner, "").await;
    // More and larger events than the feed and the sockets buffer, so the stream has to read the history.
    record_large_events(&pool, "acme", 6_000, 4_000).await;
    server.events_are_sequenced(&pool).await;
    server.pipeline(&owner, "Last").await;
    assert_eq!(ids(&stream.messages(6_001).await), (head + 1..=head + 6_001).collect::<Vec<_>>());
    server.end().await;
}

#[tokio::test]
async fn a_gap_in_the_history_sends_a_reset() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    write_history(&pool, &owner, 10 - head).await;
    sqlx::query("delete from events where sequence < 5").execute(&pool).await.unwrap();
    // 5 to 10 are kept: a reader that has received 4 has missed nothing.
    let mut whole = Stream::resume(&server, &owner, "", 4).await;
    assert_eq!(ids(&whole.messages(6).await), [5, 6, 7, 8, 9, 10]);
    let mut streams = Vec::new();
    for last in [0, 1, 3, 11, 1_000_000, i64::MAX - 1, i64::MAX] {
        let mut stream = Stream::resume(&server, &owner, "", last).await;
        let reset = stream.message().await;
        assert_eq!((reset.id, reset.event.as_str(), reset.data), (10, "reset", json!({})), "after {last}");
        streams.push(stream);
    }
    streams.push(Stream::resume(&server, &owner, "", 10).await);
    streams.push(whole);
    // After that all of them receive new events.
    server.pipeline(&owner, "Next").await;
    for stream in &mut streams {
        let message = stream.message().await;
        assert_eq!((message.id, message.event.as_str()), (11, "pipeline.created"));
    }
    server.end().await;
}

#[tokio::test]
async fn an_organization_without_stored_events_has_a_stream() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "A").await;
    let head = server.head(&pool, &owner).await;
    sqlx::query("delete from events").execute(&pool).await.unwrap();
    let mut received = Stream::resume(&server, &owner, "", head).await;
    let mut missed = Stream::resume(&server, &owner, "", head - 1).await;
    assert_eq!(missed.message().await.event, "reset");
    server.pipeline(&owner, "B").await;
    for stream in [&mut received, &mut missed] {
        assert_eq!(stream.message().await.id, head + 1);
    }
    server.end().await;
}

#[tokio::test]
async fn the_header_takes_precedence_over_the_parameter() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    write_history(&pool, &owner, 5).await;
    // A browser that reconnects repeats its URL and adds the last id.
    let mut stream = Stream::resume(&server, &owner, "?after=1", head + 3).await;
    assert_eq!(ids(&stream.messages(2).await), [head + 4, head + 5]);
    server.end().await;
}
