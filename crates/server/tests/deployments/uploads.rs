//! Uploads: authorized before the first byte is stored and again at the end; what is not kept is removed at once.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use reqwest::header::CONTENT_LENGTH;
use reqwest::{Body, Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::support::eventually;
use crate::yard::{Job, Yard};

const DEFINITION: &str = r#"
stages:
  build:
    artifacts: [out]
    caches: [{ key: cargo, paths: [target] }]
    steps: [{ image: a, run: "true" }]
"#;
const IN_ENVIRONMENT: &str = r#"
ephemeralEnvironments:
  qa-1: { stages: [deploy] }
stages:
  deploy:
    artifacts: [out]
    caches: [{ key: cargo, paths: [target] }]
    steps: [{ image: a, run: "true" }]
"#;
const ARCHIVES: [&str; 2] = ["/artifact", "/caches/cargo"];
const MIB: usize = 1024 * 1024;
const SOON: Duration = Duration::from_secs(5);

/// A body that is under way: its pieces are sent one by one; an error breaks it off.
fn body() -> (UnboundedSender<Result<Bytes, std::io::Error>>, Body) {
    let (sender, receiver) = unbounded_channel();
    let pieces = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    (sender, Body::wrap_stream(pieces))
}

fn zeros(length: usize) -> Bytes {
    Bytes::from(vec![0; length])
}

async fn code(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

async fn count(pool: &PgPool, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(pool).await.unwrap()
}

/// Nothing is in the object store, and nothing is on the list of what is to go from it.
async fn nothing_is_stored(yard: &Yard, pool: &PgPool) -> bool {
    let objects = yard.server.server.app.objects.names().await.unwrap();
    objects.is_empty() && count(pool, "select count(*) from discarded_objects").await == 0
}

/// The upload has begun: its object is on the list of what is to go, unless it is kept.
async fn has_begun(pool: &PgPool) {
    let begun = || async { count(pool, "select count(*) from discarded_objects").await == 1 };
    assert!(eventually(SOON, begun).await, "the upload has not begun");
}

async fn put(yard: &Yard, job: &Job, path: &str, length: usize) -> (u16, String) {
    code(yard.request_by(Method::PUT, job, path).body(zeros(length)).send().await.unwrap()).await
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_upload_without_a_valid_job_stores_nothing(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let (job, forged) = (yard.job_of(&yard.pipeline).await, yard.forged_job());
    let gone = (410, "job_gone".to_owned());
    for path in ARCHIVES {
        assert_eq!(put(&yard, &forged, path, 500_000).await, gone, "{path} of no job");
    }
    let over = "update jobs set lease_expires_at = clock_timestamp() - interval '1 second'";
    sqlx::query(over).execute(&pool).await.unwrap();
    for path in ARCHIVES {
        assert_eq!(put(&yard, &job, path, 500_000).await, gone, "{path} after the lease");
    }
    // Not even a place on the list was taken: the object store was never touched.
    assert!(nothing_is_stored(&yard, &pool).await);
    yard.end().await;
}

/// The server rejects it by its head: it does not send `100 Continue`, and reads nothing of the body.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_rejected_upload_is_not_read(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let job = yard.job_of(&yard.pipeline).await;
    let too_large = 10 * 1024 * MIB as u64 + 1;
    for (job, length, status) in [(&yard.forged_job(), 1000, "410"), (&job, too_large, "413")] {
        let mut wire = TcpStream::connect(yard.server.origin.trim_start_matches("http://")).await.unwrap();
        let head = yard.head("PUT", job, "/artifact", None);
        let head = format!("{head}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n");
        wire.write_all(head.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        tokio::time::timeout(SOON, wire.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(std::str::from_utf8(&first).unwrap(), format!("HTTP/1.1 {status}"));
    }
    assert!(nothing_is_stored(&yard, &pool).await);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_job_that_was_overridden_leaves_nothing(pool: PgPool) {
    let yard = Yard::new(&pool, IN_ENVIRONMENT).await;
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let (_, id) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let job = yard.take(&yard.advance(&id).await).await;
    let (sender, under_way) = body();
    let request = yard.request_by(Method::PUT, &job, "/artifact").body(under_way);
    let finish = async {
        sender.send(Ok(zeros(MIB))).unwrap();
        has_begun(&pool).await;
        yard.claim("qa-1", &mate, "force-claim").await;
        drop(sender);
    };
    let (response, ()) = tokio::join!(request.send(), finish);
    let outdated = (409, "fence_outdated".to_owned());
    assert_eq!(code(response.unwrap()).await, outdated, "checked again at the end");
    for path in ARCHIVES {
        assert_eq!(put(&yard, &job, path, 1000).await, outdated, "{path}");
    }
    assert!(nothing_is_stored(&yard, &pool).await);
    assert_eq!(count(&pool, "select count(*) from artifacts").await, 0);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_upload_that_outlives_its_job_is_removed_at_once(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    for path in ARCHIVES {
        let job = yard.job_of(&yard.pipeline).await;
        let (sender, under_way) = body();
        let request = yard.request_by(Method::PUT, &job, path).body(under_way);
        let finish = async {
            sender.send(Ok(zeros(MIB))).unwrap();
            has_begun(&pool).await;
            assert_eq!(yard.say(&job, "/complete", json!({ "error": "given up" })).await.0, 200);
            drop(sender);
        };
        let (response, ()) = tokio::join!(request.send(), finish);
        assert_eq!(code(response.unwrap()).await, (410, "job_gone".to_owned()), "{path}");
        assert!(nothing_is_stored(&yard, &pool).await, "{path}");
    }
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_breaks_off_or_comes_damaged_is_removed_at_once(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    for path in ARCHIVES {
        let job = yard.job_of(&yard.pipeline).await;
        let (sender, under_way) = body();
        let request = yard.request_by(Method::PUT, &job, path).body(under_way);
        let break_off = async {
            // More than one part, so that some of it is in the object store.
            for _ in 0..12 {
                sender.send(Ok(zeros(MIB))).unwrap();
            }
            has_begun(&pool).await;
            sender.send(Err(std::io::Error::other("the line is cut"))).unwrap();
        };
        let (response, ()) = tokio::join!(request.send(), break_off);
        assert!(response.is_err(), "{path}");
        let removed = eventually(SOON, || nothing_is_stored(&yard, &pool)).await;
        assert!(removed, "{path}: what broke off is still there");

        let damaged = yard.request_by(Method::PUT, &job, path).header("x-greenroom-sha256", "00");
        let damaged = damaged.body("torn").send().await.unwrap();
        assert_eq!(code(damaged).await, (422, "invalid_request".to_owned()));
        assert!(nothing_is_stored(&yard, &pool).await, "{path}: what came damaged is still there");
        // The length that it announces is not what it sends: the client breaks the connection off.
        let short = yard.request_by(Method::PUT, &job, path).header(CONTENT_LENGTH, 2 * MIB);
        let (sender, under_way) = body();
        let give_up = async {
            sender.send(Ok(zeros(MIB))).unwrap();
            has_begun(&pool).await;
        };
        tokio::select! {
            response = short.body(under_way).send() => drop(response),
            () = give_up => {}
        }
        assert!(eventually(SOON, || nothing_is_stored(&yard, &pool)).await, "{path}: a part is still there");
    }
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_job_has_one_artifact(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let job = yard.job_of(&yard.pipeline).await;
    for length in [10, 20, 30] {
        assert_eq!(put(&yard, &job, "/artifact", length).await.0, 200);
    }
    let kept: Vec<i64> = sqlx::query_scalar("select bytes from artifacts").fetch_all(&pool).await.unwrap();
    assert_eq!(kept, [30]);
    let app = &yard.server.server.app;
    greenroom_server::app::removal::once(&app.store, &app.objects).await.unwrap();
    assert_eq!(app.objects.names().await.unwrap().len(), 1, "those that were replaced are gone");
    yard.end().await;
}

/// A step that has begun, and the path of its log.
async fn logging(yard: &Yard) -> (Job, String) {
    let job = yard.job_of(&yard.pipeline).await;
    let step = job.steps[0].clone();
    assert_eq!(yard.say(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    (job, step)
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_large_piece_of_log_that_is_rejected_leaves_no_object(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let (job, step) = logging(&yard).await;
    let piece = vec![b'x'; 300_000];
    // The step ends after the check and before the piece is appended.
    let mut ending = pool.begin().await.unwrap();
    sqlx::query("update step_runs set status = 'succeeded'").execute(&mut *ending).await.unwrap();
    let end = async {
        let objects = &yard.server.server.app.objects;
        let stored = eventually(SOON, || async { objects.names().await.unwrap().len() == 1 }).await;
        assert!(stored, "the piece is not in the object store");
        ending.commit().await.unwrap();
    };
    let ((status, answer), ()) = tokio::join!(yard.log(&job, &step, 0, piece.clone()), end);
    assert_eq!((status, answer["code"].as_str()), (410, Some("job_gone")));
    assert!(nothing_is_stored(&yard, &pool).await);

    // The same piece twice at the same moment: one of the two objects is kept, and the log can be read.
    sqlx::query("update step_runs set status = 'running'").execute(&pool).await.unwrap();
    let mut waiting = pool.begin().await.unwrap();
    sqlx::query("select 1 from step_runs for update").execute(&mut *waiting).await.unwrap();
    let release = async {
        let objects = &yard.server.server.app.objects;
        let stored = eventually(SOON, || async { objects.names().await.unwrap().len() == 2 }).await;
        assert!(stored, "both pieces are not in the object store");
        waiting.commit().await.unwrap();
    };
    let (first, second, ()) =
        tokio::join!(yard.log(&job, &step, 0, piece.clone()), yard.log(&job, &step, 0, piece), release);
    assert_eq!((first.0, second.0), (200, 200));
    let left = yard.server.server.app.objects.names().await.unwrap();
    let kept: Vec<String> =
        sqlx::query_scalar("select object from log_segments").fetch_all(&pool).await.unwrap();
    assert_eq!(left, kept);
    yard.end().await;
}

/// A runner of another organization, forged job tokens, and bodies that never come.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn slow_uploads_of_others_do_not_hold_up_a_log(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let (job, step) = logging(&yard).await;
    let globex = yard.server.organization("globex").await;
    let made = json!({ "name": "runner-1" });
    let path = "/organizations/globex/runners";
    let (status, made) = yard.server.json(Method::POST, path, &globex.token, Some(made)).await;
    assert_eq!(status, 201, "{made}");
    let runner_token = made["data"]["token"].as_str();
    let mut slow = Vec::new();
    for _ in 0..100 {
        let forged = yard.forged_job();
        let path = format!("/steps/{step}/logs?offset=0&at=2026-11-15T12:00:00Z");
        let head = yard.head("POST", &forged, &path, runner_token);
        let mut wire = TcpStream::connect(yard.server.origin.trim_start_matches("http://")).await.unwrap();
        wire.write_all(format!("{head}Content-Length: 100000\r\n\r\nslow").as_bytes()).await.unwrap();
        slow.push(wire);
    }
    let mut offset = 0;
    for _ in 0..10 {
        let started = Instant::now();
        assert_eq!(yard.log(&job, &step, offset, b"a line\n".to_vec()).await.0, 200);
        assert!(started.elapsed() < Duration::from_secs(3), "it waited for {:?}", started.elapsed());
        offset += 7;
    }
    // They are given up for their slowness, or refused because their token has too many requests.
    drop(slow);
    yard.end().await;
}
