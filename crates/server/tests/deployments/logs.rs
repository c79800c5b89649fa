//! Logs: byte for byte, however the pieces come.

use futures_util::StreamExt;
use reqwest::header::RANGE;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::runs::DIAMOND;
use crate::yard::{Job, Yard};

struct Written {
    yard: Yard,
    job: Job,
    step: String,
    url: String,
}

async fn started(pool: &PgPool) -> Written {
    let yard = Yard::new(pool, DIAMOND).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    let step = job.steps[0].clone();
    assert_eq!(yard.say(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    let url = format!("{}/organizations/acme/deployments/{id}/steps/{step}/logs", yard.server.base);
    Written { yard, job, step, url }
}

impl Written {
    async fn append(&self, offset: u64, bytes: &[u8]) -> (u16, Value) {
        self.yard.log(&self.job, &self.step, offset, bytes.to_vec()).await
    }

    async fn read(&self, range: Option<&str>) -> (u16, Vec<u8>) {
        let mut request = self.yard.server.client.get(&self.url).bearer_auth(&self.yard.owner.token);
        if let Some(range) = range {
            request = request.header(RANGE, range);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap().to_vec())
    }
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn pieces_that_come_twice_or_overlap_count_once(pool: PgPool) {
    let log = started(&pool).await;
    assert_eq!(log.append(0, b"hello ").await.1["data"]["bytes"], 6);
    assert_eq!(log.append(0, b"hello ").await.1["data"]["bytes"], 6);
    assert_eq!(log.append(3, b"lo world").await.1["data"]["bytes"], 11);
    let (status, answer) = log.append(20, b"!").await;
    assert_eq!((status, answer["code"].as_str(), &answer["expected"]), (409, Some("log_offset"), &json!(11)));
    assert_eq!(log.read(None).await, (200, b"hello world".to_vec()));
    assert_eq!(log.read(Some("bytes=6-8")).await, (206, b"wor".to_vec()));
    assert_eq!(log.read(Some("bytes=-5")).await, (206, b"world".to_vec()));
    assert_eq!(log.read(Some("lines=1-2")).await.0, 400);
    let behind = log.yard.server.client.get(&log.url).bearer_auth(&log.yard.owner.token);
    let behind = behind.header(RANGE, "bytes=11-").send().await.unwrap();
    let header = |name: &str| behind.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((behind.status().as_u16(), header("content-range").as_str()), (416, "bytes */11"));
    assert_eq!(header("x-log-complete"), "false");
    let answer: Value = behind.json().await.unwrap();
    assert_eq!(
        (answer["code"].as_str(), answer["bytes"].as_i64()),
        (Some("range_not_satisfiable"), Some(11))
    );

    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 12 });
    let (status, answer) = log.yard.say(&log.job, &format!("/steps/{}/end", log.step), end).await;
    assert_eq!(
        (status, &answer["expected"]),
        (409, &json!(11)),
        "a step does not end before its log is here"
    );
    log.yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn small_and_large_pieces_make_one_log(pool: PgPool) {
    let log = started(&pool).await;
    let mut all = Vec::new();
    let mut number = 7_u32;
    // Small ones that are gathered, then large ones that are objects at once, in turns.
    for round in 0..60 {
        let length = if round % 20 < 15 { 90_000 } else { 700_000 };
        let piece: Vec<u8> = (0..length)
            .map(|_| {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (number >> 24) as u8
            })
            .collect();
        let (status, answer) = log.append(all.len() as u64, &piece).await;
        all.extend_from_slice(&piece);
        assert_eq!((status, answer["data"]["bytes"].as_u64()), (200, Some(all.len() as u64)));
    }
    assert!(log.read(None).await.1 == all, "the log is not what was written");
    let range = log.read(Some("bytes=1000000-3000000")).await.1;
    assert!(range == all[1_000_000..=3_000_000], "a range is not what was written");
    let loose: i64 = sqlx::query_scalar("select coalesce(sum(length(content)), 0)::bigint from log_segments")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(loose < 3 * 1024 * 1024, "{loose} bytes are still in the database");
    log.yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stream_goes_on_where_it_was(pool: PgPool) {
    let log = started(&pool).await;
    log.append(0, "erste Zeile: ä\n".as_bytes()).await;
    let url = format!("{}/stream", log.url);
    let request = log.yard.server.client.get(&url).bearer_auth(&log.yard.owner.token);
    let response = request.header("last-event-id", "7").send().await.unwrap();
    let mut stream = response.bytes_stream();
    let mut text = String::new();
    while !text.contains("ä") {
        text.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(text.contains("\"seq\":7") && text.contains("eile: ä"), "{text}");
    log.append(16, b"zweite\n").await;
    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 23 });
    log.yard.say(&log.job, &format!("/steps/{}/end", log.step), end).await;
    while let Some(Ok(part)) = stream.next().await {
        text.push_str(std::str::from_utf8(&part).unwrap());
    }
    assert!(text.contains("zweite") && text.contains("event: end"), "{text}");
    log.yard.end().await;
}
