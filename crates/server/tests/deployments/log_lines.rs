//! Parts of a log by the numbers of their lines.

use reqwest::Response;
use reqwest::header::RANGE;
use serde_json::Value;

use crate::log_index::hostile_log;
use crate::logs::{LogFixture, started};
use crate::support::database::TestDatabase;

impl LogFixture {
    async fn get(&self, query: &str, range: Option<&str>) -> Response {
        let url = format!("{}?{query}", self.url);
        let mut request = self.fixture.server.client.get(url).bearer_auth(&self.fixture.owner.token);
        if let Some(range) = range {
            request = request.header(RANGE, range);
        }
        request.send().await.unwrap()
    }

    /// Returns the offset and the bytes of a part.
    async fn part(&self, query: &str) -> (usize, Vec<u8>) {
        let response = self.get(query, None).await;
        assert_eq!(response.status(), 200, "{query}");
        let offset = response.headers()["x-log-offset"].to_str().unwrap().parse().unwrap();
        (offset, response.bytes().await.unwrap().to_vec())
    }
}

#[tokio::test]
async fn lines_are_returned_byte_for_byte() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let bytes = hostile_log();
    log.append_all(&bytes, &[100_000, 3, 400_000, 50_000]).await;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let count = lines.len();
    let start = |line: usize| lines[..(line - 1).min(count)].concat().len();
    // At the edges of the log and of its blocks, among empty lines, around the line of more than a MiB, and
    // past the end.
    for (first, last) in [
        (1, 1),
        (1, count),
        (2, 3),
        (65_536, 65_538),
        (69_990, 70_010),
        (89_999, 90_003),
        (90_001, 90_001),
        (count - 100, count - 1),
        (count, count),
        (count, count + 5),
        (count + 1, count + 2),
    ] {
        let expected = start(first)..start(last + 1);
        let (offset, part) = log.part(&format!("lines={first}-{last}")).await;
        assert_eq!(offset, expected.start, "{first}-{last}");
        assert!(part == bytes[expected], "the lines {first}-{last} differ");
        let (_, rest) = log.part(&format!("lines={first}-")).await;
        assert!(rest == bytes[start(first)..], "the lines {first}- differ");
    }
    for tail in [1, 2, 1_000, count - 1, count, count + 1] {
        let expected = start((count + 1).saturating_sub(tail).max(1));
        let (offset, part) = log.part(&format!("tail={tail}")).await;
        assert_eq!(offset, expected, "tail={tail}");
        assert!(part == bytes[expected..], "tail={tail} differs");
    }
    // The largest numbers are past the end, whether or not they fit.
    for query in ["lines=18446744073709551615-", "lines=1-99999999999999999999", "tail=9223372036854775807"] {
        let (offset, part) = log.part(query).await;
        assert_eq!(offset + part.len(), bytes.len(), "{query}");
    }
    log.fixture.end().await;
}

#[tokio::test]
async fn a_log_that_is_empty_or_ends_with_a_newline_has_no_further_line() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    assert_eq!(log.part("lines=1-10").await, (0, Vec::new()));
    assert_eq!(log.part("tail=10").await, (0, Vec::new()));
    log.append(0, b"one\ntwo\n").await;
    assert_eq!(log.part("tail=1").await, (4, b"two\n".to_vec()));
    assert_eq!(log.part("lines=3-3").await, (8, Vec::new()));
    log.append(8, b"thr").await;
    assert_eq!(log.part("tail=1").await, (8, b"thr".to_vec()));
    log.append(11, b"ee").await;
    assert_eq!(log.part("lines=3-").await, (8, b"three".to_vec()));
    log.fixture.end().await;
}

#[tokio::test]
async fn invalid_and_combined_parameters_are_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    log.append(0, b"one\ntwo\n").await;
    for (query, range, pointer) in [
        ("lines=0-1", None, "lines"),
        ("lines=2-1", None, "lines"),
        ("lines=-5", None, "lines"),
        ("lines=%2B1-2", None, "lines"),
        ("lines=1", None, "lines"),
        ("lines=", None, "lines"),
        ("lines=1-2-3", None, "lines"),
        ("tail=0", None, "tail"),
        ("tail=-1", None, "tail"),
        ("lines=1-2&tail=1", None, "lines"),
        ("lines=1-2&afterSeq=1", None, "lines"),
        ("lines=1-2", Some("bytes=0-1"), "lines"),
        ("tail=1&afterSeq=1", None, "tail"),
        ("tail=1", Some("bytes=0-1"), "tail"),
    ] {
        let response = log.get(query, range).await;
        assert_eq!(response.status(), 422, "{query}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{query}: {problem}");
    }
    // A stream has no end that lines could be counted from.
    let url = format!("{}/stream?tail=1", log.url);
    let request = log.fixture.server.client.get(url).bearer_auth(&log.fixture.owner.token);
    assert_eq!(request.send().await.unwrap().status(), 422);
    log.fixture.end().await;
}

/// During a rolling upgrade, a server of an earlier version may store and gather pieces without counting.
#[tokio::test]
async fn entries_that_are_missing_cost_a_longer_read_and_uncounted_lines_are_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let bytes = b"0123456789\n".repeat(100_000);
    log.append_all(&bytes, &[300_000]).await;
    let uncounted = "update log_segments set newlines_before = null, blocks = '{}' where start > 0";
    sqlx::query(uncounted).execute(&pool).await.unwrap();
    assert_eq!(log.part("lines=90000-90001").await, (89_999 * 11, bytes[..22].to_vec()));
    sqlx::query("update step_runs set counted_bytes = 0").execute(&pool).await.unwrap();
    for query in ["lines=1-2", "tail=1"] {
        let response = log.get(query, None).await;
        assert_eq!(response.status(), 422, "{query}");
    }
    assert_eq!(log.get("afterSeq=5", None).await.status(), 200);
    log.fixture.end().await;
}
