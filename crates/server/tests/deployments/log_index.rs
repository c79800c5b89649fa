//! The index of a log's lines: it is right for every content, and its size depends on the length of the log
//! alone.

use reqwest::Method;
use serde_json::Value;

use crate::logs::{LogFixture, started};
use crate::support::database::TestDatabase;

const BLOCK: usize = 64 * 1024;

impl LogFixture {
    pub async fn index(&self) -> Value {
        let request = self.fixture.server.client.request(Method::GET, format!("{}/index", self.url));
        let response = request.bearer_auth(&self.fixture.owner.token).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json::<Value>().await.unwrap()["data"].take()
    }

    /// Appends bytes in pieces of these sizes, in turns.
    pub async fn append_all(&self, bytes: &[u8], sizes: &[usize]) {
        let (mut at, mut sizes) = (0, sizes.iter().cycle());
        while at < bytes.len() {
            let end = bytes.len().min(at + sizes.next().unwrap());
            let (status, response) = self.append(at as u64, &bytes[at..end]).await;
            assert_eq!(status, 200, "{response}");
            at = end;
        }
    }
}

/// Text that is hard to split into lines correctly: lines of all lengths, one of more than a MiB, empty
/// lines, carriage returns, NUL bytes and invalid UTF-8.
pub fn hostile_log() -> Vec<u8> {
    let mut log = vec![b'\n'; 70_000];
    for number in 0..20_000 {
        log.extend_from_slice(format!("line {number}: \u{1f3ad}\r\n").as_bytes());
    }
    log.resize(log.len() + 1_300_000, b'x');
    log.extend_from_slice(b"\n\0\0\xff\xfe\xed\xa0\x80\n");
    log.extend(b"ab\n".repeat(100_000));
    log.extend_from_slice(b"the end, without a newline");
    log
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn assert_index(index: &Value, log: &[u8]) {
    assert_eq!(index["bytes"], log.len());
    let open = usize::from(log.last().is_some_and(|byte| *byte != b'\n'));
    assert_eq!(index["lines"], newlines(log) + open);
    assert_eq!(index["every"], BLOCK);
    let expected: Vec<Value> =
        (0..log.len()).step_by(BLOCK).map(|at| (newlines(&log[..at]) + 1).into()).collect();
    assert_eq!(index["lineNumbers"].as_array(), Some(&expected));
    assert_eq!(index["times"].as_array().unwrap().len(), expected.len());
    assert!(index["times"].as_array().unwrap().iter().all(|time| time == "2026-11-15T12:00:00Z"));
}

#[tokio::test]
async fn the_index_is_right_whatever_the_pieces() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    assert_index(&log.index().await, b"");
    let bytes = hostile_log();
    // Small pieces stay in the database until they are gathered, large ones become objects immediately.
    log.append_all(&bytes, &[90_000, 7, 1, BLOCK, 300_000, 60_000]).await;
    assert_index(&log.index().await, &bytes);
    let index = log.index().await;
    assert_eq!(index, log.index().await, "two reads of an unchanged log are equal");
    assert_eq!(index["complete"], false);
    // A piece that is sent twice, or overlaps, is counted once.
    let end = bytes.len() as u64;
    log.append(end - 4, b"line\nmore\n").await;
    log.append(end, b"\nmore\n").await;
    assert_index(&log.index().await, &[&bytes[..], b"\nmore\n"].concat());
    log.fixture.end().await;
}

/// The blocks of pieces in the database are kept when the pieces are gathered into an object.
#[tokio::test]
async fn gathering_keeps_the_index() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let bytes = b"0123456789\n".repeat(200_000);
    log.append_all(&bytes, &[100_000]).await;
    let objects: i64 = sqlx::query_scalar("select count(*) from log_segments where cardinality(marks) > 0")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(objects > 0, "nothing was gathered");
    assert_index(&log.index().await, &bytes);
    log.fixture.end().await;
}

#[tokio::test]
async fn a_log_of_newlines_has_no_larger_index_than_one_of_a_single_line() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let half = 48 * BLOCK;
    let mut bytes = vec![b'\n'; half];
    log.append_all(&bytes, &[1024 * 1024]).await;
    let index = log.index().await;
    assert_eq!((&index["lines"], index["lineNumbers"].as_array().unwrap().len()), (&half.into(), 48));
    bytes.resize(2 * half, b'x');
    for part in 3..6 {
        let at = part * 1024 * 1024;
        assert_eq!(log.append(at as u64, &bytes[at..at + 1024 * 1024]).await.0, 200);
    }
    assert_index(&log.index().await, &bytes);
    assert_eq!(log.index().await["lines"], half + 1);
    log.fixture.end().await;
}

/// During a rolling upgrade, a server of an earlier version appends and gathers without counting.
#[tokio::test]
async fn a_log_that_was_not_counted_has_no_line_numbers() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let bytes = b"ab\n".repeat(50_000);
    log.append_all(&bytes, &[100_000]).await;
    sqlx::query("update log_segments set blocks = '{}' where start = 0").execute(&pool).await.unwrap();
    let index = log.index().await;
    assert_eq!((&index["lines"], &index["lineNumbers"]), (&Value::Null, &Value::Array(Vec::new())));
    sqlx::query("update step_runs set counted_bytes = counted_bytes - 1").execute(&pool).await.unwrap();
    log.append(bytes.len() as u64, b"more\n").await;
    let index = log.index().await;
    assert_eq!((&index["lines"], &index["bytes"]), (&Value::Null, &(bytes.len() + 5).into()));
    log.fixture.end().await;
}
