//! Searching logs: every matching line is found, and a search costs no more than its bounds allow.

use std::time::Duration;

use greenroom_app::authentication::Found;
use greenroom_app::limits::{Bearer, Class, LimitSettings};
use greenroom_domain::token::TokenSecret;
use greenroom_server::http::Limits;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};

use crate::log_index::hostile_log;
use crate::logs::{LogFixture, started, started_on};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

const MIB: usize = 1024 * 1024;

impl LogFixture {
    async fn search_as(&self, token: &str, query: &str) -> (u16, Value) {
        let url = format!("{}/search?{query}", self.url);
        let response = self.fixture.server.client.get(url).bearer_auth(token).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn search(&self, query: &str) -> Value {
        let (status, mut response) = self.search_as(&self.fixture.owner.token, query).await;
        assert_eq!(status, 200, "{query}: {response}");
        response["data"].take()
    }
}

/// Returns line and offset of each line that contains the text.
fn expected(log: &[u8], text: &str) -> Vec<(u64, u64)> {
    let (mut offset, mut found) = (0, Vec::new());
    for (number, line) in log.split(|byte| *byte == b'\n').enumerate() {
        if let Some(index) = line.windows(text.len()).position(|window| window == text.as_bytes()) {
            found.push((number as u64 + 1, (offset + index) as u64));
        }
        offset += line.len() + 1;
    }
    found
}

fn found(result: &Value) -> Vec<(u64, u64)> {
    let matches = result["matches"].as_array().unwrap().iter();
    matches.map(|found| (found["line"].as_u64().unwrap(), found["byte"].as_u64().unwrap())).collect()
}

async fn limited(pool: &PgPool, settings: LimitSettings) -> LogFixture {
    let url = pool.connect_options().to_url_lossy();
    let limits = Limits::with(Duration::from_secs(15), settings);
    started_on(TestServer::start_on(url.as_str(), limits).await).await
}

/// Makes the log as long as this many copies of its first segment, an object, without storing them.
async fn repeat_first_segment(pool: &PgPool, copies: i64) {
    let copy = "insert into log_segments
            (organization_id, step_run_id, start, bytes, at, object, newlines_before, blocks)
        select s.organization_id, s.step_run_id, n * s.bytes, s.bytes, s.at, s.object, n * r.newlines,
            array(select case when b.i % 2 = 1 then b.value + n * r.newlines else b.value end
                from unnest(s.blocks) with ordinality b (value, i) order by b.i)
        from log_segments s join step_runs r on r.organization_id = s.organization_id and r.id = s.step_run_id,
            generate_series(1, $1 - 1) n
        where s.start = 0";
    sqlx::query(copy).bind(copies).execute(pool).await.unwrap();
    let extend = "update step_runs set log_bytes = log_bytes * $1, stored_bytes = stored_bytes * $1,
        counted_bytes = counted_bytes * $1, newlines = newlines * $1, last_line_start = last_line_start * $1
        where log_bytes > 0";
    sqlx::query(extend).bind(copies).execute(pool).await.unwrap();
}

#[tokio::test]
async fn every_matching_line_is_found_with_its_number() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    assert_eq!(log.search("q=a").await, json!({ "matches": [], "total": 0, "searchedTo": 0, "next": null }));
    let bytes = hostile_log();
    log.append_all(&bytes, &[100_000, 3, 400_000, 50_000]).await;
    for text in ["line 199", "xxx", "without", "nothing"] {
        let result = log.search(&format!("q={}&limit=1000", text.replace(' ', "%20"))).await;
        let expected = expected(&bytes, text);
        assert_eq!(found(&result), expected, "{text}");
        assert_eq!((&result["total"], &result["next"]), (&expected.len().into(), &Value::Null), "{text}");
        assert_eq!(result["searchedTo"], bytes.len());
    }
    // Invalid UTF-8 is replaced in the excerpt, and carriage returns and other bytes are kept.
    let result = log.search("q=%F0%9F%8E%AD&limit=1").await;
    assert_eq!(result["matches"][0]["text"], "line 0: \u{1f3ad}\r");
    let result = log.search("q=LINE%200:").await;
    assert_eq!(found(&result), expected(&bytes, "line 0:"));
    assert_eq!(log.search("q=LINE%200:&caseSensitive=true").await["total"], 0);
    // The line of more than a MiB is found once, and shown in part.
    let result = log.search("q=xx").await;
    assert_eq!((&result["total"], result["matches"][0]["text"].as_str().unwrap().len()), (&1.into(), 192));
    log.fixture.end().await;
}

#[tokio::test]
async fn a_search_continues_where_the_one_before_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let bytes = hostile_log();
    log.append_all(&bytes, &[300_000]).await;
    let (mut all, mut after) = (Vec::new(), Some(0));
    while let Some(from) = after {
        let result = log.search(&format!("q=line%201&limit=1000&after={from}")).await;
        all.extend(found(&result));
        after = result["next"].as_u64();
        assert!(after.is_none_or(|next| next > from), "{after:?} after {from}");
    }
    assert_eq!(all, expected(&bytes, "line 1"));
    // The total is counted up to 10,000 lines, and the rest is not read.
    let result = log.search("q=ab&limit=1").await;
    assert_eq!((&result["total"], result["matches"].as_array().unwrap().len()), (&10_000.into(), 1));
    assert!(result["searchedTo"].as_u64().unwrap() < bytes.len() as u64);
    let past = log.search("q=ab&after=18446744073709551615").await;
    assert_eq!((&past["total"], &past["next"]), (&0.into(), &Value::Null));
    log.fixture.end().await;
}

#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let long = format!("q={}", "a".repeat(201));
    for (query, pointer) in [
        ("", "q"),
        ("q=", "q"),
        (long.as_str(), "q"),
        ("q=a%00b", "q"),
        ("q=a%0Ab", "q"),
        ("q=a&limit=0", "limit"),
        ("q=a&limit=1001", "limit"),
        ("q=a&after=-1", "after"),
        ("q=a&caseSensitive=1", "caseSensitive"),
    ] {
        let (status, problem) = log.search_as(&log.fixture.owner.token, query).await;
        assert_eq!(status, 422, "{query}: {problem}");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{query}: {problem}");
    }
    // There are no patterns: what would be one elsewhere is a text here.
    assert_eq!(log.search_as(&log.fixture.owner.token, "q=(a%2B)%2B$&regex=true").await.0, 422);
    log.append(0, b"aaaa\n(a+)+$\n").await;
    assert_eq!(found(&log.search("q=(a%2B)%2B$").await), [(2, 5)]);
    log.fixture.end().await;
}

/// An attacker searches a log of a gigabyte for what is not in it, again and again.
#[tokio::test]
async fn an_organization_can_search_a_bounded_number_of_bytes_per_second() {
    let (_database, pool) = TestDatabase::create().await;
    let settings = LimitSettings { organization_search_mib: 1, ..LimitSettings::default() };
    let log = limited(&pool, settings).await;
    let line = b"0123456789 0123456789 0123456789 0123456789 0123456789 01234567\n";
    log.append_all(&line.repeat(MIB / line.len()), &[MIB]).await;
    repeat_first_segment(&pool, 1_000).await;
    let index = log.index().await;
    assert_eq!((&index["lines"], &index["every"]), (&16_384_000.into(), &262_144.into()));
    let first = log.search("q=nothing&caseSensitive=true").await;
    let reached = first["searchedTo"].as_u64().unwrap();
    // A burst of 16 MiB, and what has become available while it was searched.
    assert!((15 * MIB as u64..40 * MIB as u64).contains(&reached), "{first}");
    assert_eq!((&first["total"], &first["next"]), (&0.into(), &reached.into()));
    let mut refused = 0;
    for _ in 0..20 {
        let (status, response) = log.search_as(&log.fixture.owner.token, "q=nothing").await;
        if status == 429 {
            assert_eq!(response["limit"], "organization_search_kib", "{response}");
            refused += 1;
        }
    }
    assert!(refused >= 10, "{refused} of 20 searches were refused");
    // Lines are found without a search, at the end of a gigabyte as well.
    let url = format!("{}?lines=16383999-16384000", log.url);
    let request = log.fixture.server.client.request(Method::GET, url).bearer_auth(&log.fixture.owner.token);
    let part = request.send().await.unwrap();
    assert_eq!(part.headers()["x-log-offset"], (16_383_998_u64 * 64).to_string().as_str());
    assert_eq!(part.bytes().await.unwrap().len(), 128);
    log.fixture.end().await;
}

#[tokio::test]
async fn a_token_has_one_search_at_a_time() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    log.append(0, b"one\n").await;
    let app = &log.fixture.server.server.app;
    let secret: TokenSecret = log.fixture.owner.token.parse().unwrap();
    let found = app.authentication.principal(secret.hash(), Class::General).await.unwrap();
    let principal = match found {
        Found::Valid(principal) => Some(principal),
        Found::Rejected { .. } => None,
    };
    let running = app.limits.search(Bearer::from(&*principal.unwrap())).unwrap();
    let (status, response) = log.search_as(&log.fixture.owner.token, "q=one").await;
    assert_eq!((status, &response["limit"]), (429, &"token_searches".into()));
    let (status, made) = log.fixture.call(Method::POST, "/api-tokens", json!({ "name": "second" })).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(log.search_as(made["data"]["token"].as_str().unwrap(), "q=one").await.0, 200);
    drop(running);
    assert_eq!(log.search("q=one").await["total"], 1);
    log.fixture.end().await;
}

/// During a rolling upgrade, a server of an earlier version stores pieces without counting lines.
#[tokio::test]
async fn a_log_that_was_not_counted_is_searched_without_line_numbers() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    log.append(0, b"one\ntwo\n").await;
    sqlx::query("update step_runs set counted_bytes = 0").execute(&pool).await.unwrap();
    let expected = json!([{ "line": null, "byte": 4, "text": "two" }]);
    assert_eq!(log.search("q=two").await["matches"], expected);
    log.fixture.end().await;
}
