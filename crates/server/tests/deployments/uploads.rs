//! Uploads: authorized before the first byte is stored and again at the end; objects that are not kept are
//! removed immediately.

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

use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;
use crate::support::eventually;

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
const TIMEOUT: Duration = Duration::from_secs(5);

/// A body whose chunks are sent one by one through the channel; an error aborts it.
fn body() -> (UnboundedSender<Result<Bytes, std::io::Error>>, Body) {
    let (sender, receiver) = unbounded_channel();
    let chunks = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    (sender, Body::wrap_stream(chunks))
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

/// Returns whether the object store and the list of discarded objects are empty.
async fn nothing_is_stored(fixture: &DeploymentFixture, pool: &PgPool) -> bool {
    let objects = fixture.server.server.app.objects.names().await.unwrap();
    objects.is_empty() && count(pool, "select count(*) from discarded_objects").await == 0
}

/// Waits until the upload has begun: its object is on the list of discarded objects until it is kept.
async fn has_begun(pool: &PgPool) {
    let begun = || async { count(pool, "select count(*) from discarded_objects").await == 1 };
    assert!(eventually(TIMEOUT, begun).await, "the upload has not begun");
}

async fn put(fixture: &DeploymentFixture, job: &Job, path: &str, length: usize) -> (u16, String) {
    code(fixture.request_by(Method::PUT, job, path).body(zeros(length)).send().await.unwrap()).await
}

#[tokio::test]
async fn an_upload_without_a_valid_job_stores_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (job, forged) = (fixture.job_of(&fixture.pipeline).await, fixture.forged_job());
    let gone = (410, "job_gone".to_owned());
    for path in ARCHIVES {
        assert_eq!(put(&fixture, &forged, path, 500_000).await, gone, "{path} of no job");
    }
    let over = "update jobs set lease_expires_at = clock_timestamp() - interval '1 second'";
    sqlx::query(over).execute(&pool).await.unwrap();
    for path in ARCHIVES {
        assert_eq!(put(&fixture, &job, path, 500_000).await, gone, "{path} after the lease");
    }
    // The object store was never used.
    assert!(nothing_is_stored(&fixture, &pool).await);
    fixture.end().await;
}

/// Later stages unpack an artifact over what they have checked out, so the definition has to name it.
#[tokio::test]
async fn an_artifact_that_the_stage_does_not_declare_is_not_stored() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = "stages: { build: { steps: [{ image: a, run: b }] } }";
    let fixture = DeploymentFixture::new(&pool, definition).await;
    let job = fixture.job_of(&fixture.pipeline).await;
    let refused = (409, "invalid_state".to_owned());
    assert_eq!(put(&fixture, &job, "/artifact", 500_000).await, refused);
    assert!(nothing_is_stored(&fixture, &pool).await);
    assert_eq!(count(&pool, "select count(*) from artifacts").await, 0);
    fixture.end().await;
}

/// The server rejects it by its head: it sends no `100 Continue` and reads nothing of the body.
#[tokio::test]
async fn a_rejected_upload_is_not_read() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let job = fixture.job_of(&fixture.pipeline).await;
    let too_large = 10 * 1024 * MIB as u64 + 1;
    for (job, length, status) in [(&fixture.forged_job(), 1000, "410"), (&job, too_large, "413")] {
        let mut wire = TcpStream::connect(fixture.server.origin.trim_start_matches("http://")).await.unwrap();
        let head = fixture.head("PUT", job, "/artifact", None);
        let head = format!("{head}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n");
        wire.write_all(head.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        tokio::time::timeout(TIMEOUT, wire.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(std::str::from_utf8(&first).unwrap(), format!("HTTP/1.1 {status}"));
    }
    assert!(nothing_is_stored(&fixture, &pool).await);
    fixture.end().await;
}

#[tokio::test]
async fn an_overridden_job_stores_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, IN_ENVIRONMENT).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (_, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (sender, stream) = body();
    let request = fixture.request_by(Method::PUT, &job, "/artifact").body(stream);
    let finish = async {
        sender.send(Ok(zeros(MIB))).unwrap();
        has_begun(&pool).await;
        fixture.claim("qa-1", &mate, "force-claim").await;
        drop(sender);
    };
    let (response, ()) = tokio::join!(request.send(), finish);
    let outdated = (409, "fence_outdated".to_owned());
    assert_eq!(code(response.unwrap()).await, outdated, "checked again at the end");
    for path in ARCHIVES {
        assert_eq!(put(&fixture, &job, path, 1000).await, outdated, "{path}");
    }
    assert!(nothing_is_stored(&fixture, &pool).await);
    assert_eq!(count(&pool, "select count(*) from artifacts").await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn an_upload_that_ends_after_its_job_is_removed_immediately() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    for path in ARCHIVES {
        let job = fixture.job_of(&fixture.pipeline).await;
        let (sender, stream) = body();
        let request = fixture.request_by(Method::PUT, &job, path).body(stream);
        let finish = async {
            sender.send(Ok(zeros(MIB))).unwrap();
            has_begun(&pool).await;
            assert_eq!(fixture.report(&job, "/complete", json!({ "error": "given up" })).await.0, 200);
            drop(sender);
        };
        let (response, ()) = tokio::join!(request.send(), finish);
        assert_eq!(code(response.unwrap()).await, (410, "job_gone".to_owned()), "{path}");
        assert!(nothing_is_stored(&fixture, &pool).await, "{path}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn interrupted_and_damaged_uploads_are_removed_immediately() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    for path in ARCHIVES {
        let job = fixture.job_of(&fixture.pipeline).await;
        let (sender, stream) = body();
        let request = fixture.request_by(Method::PUT, &job, path).body(stream);
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
        let removed = eventually(TIMEOUT, || nothing_is_stored(&fixture, &pool)).await;
        assert!(removed, "{path}: an interrupted upload is still stored");

        let damaged = fixture.request_by(Method::PUT, &job, path).header("x-greenroom-sha256", "00");
        let damaged = damaged.body("torn").send().await.unwrap();
        assert_eq!(code(damaged).await, (422, "invalid_request".to_owned()));
        assert!(nothing_is_stored(&fixture, &pool).await, "{path}: a damaged upload is still stored");
        // The body is shorter than its announced length: the client closes the connection.
        let short = fixture.request_by(Method::PUT, &job, path).header(CONTENT_LENGTH, 2 * MIB);
        let (sender, stream) = body();
        let give_up = async {
            sender.send(Ok(zeros(MIB))).unwrap();
            has_begun(&pool).await;
        };
        tokio::select! {
            response = short.body(stream).send() => drop(response),
            () = give_up => {}
        }
        assert!(
            eventually(TIMEOUT, || nothing_is_stored(&fixture, &pool)).await,
            "{path}: a part is still stored"
        );
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_job_has_one_artifact() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let job = fixture.job_of(&fixture.pipeline).await;
    for length in [10, 20, 30] {
        assert_eq!(put(&fixture, &job, "/artifact", length).await.0, 200);
    }
    let kept: Vec<i64> = sqlx::query_scalar("select bytes from artifacts").fetch_all(&pool).await.unwrap();
    assert_eq!(kept, [30]);
    let app = &fixture.server.server.app;
    greenroom_app::live::object_gc::run_once(&app.store, &app.objects).await.unwrap();
    assert_eq!(app.objects.names().await.unwrap().len(), 1, "replaced artifacts are removed");
    fixture.end().await;
}

/// Starts a step. Returns its job and the path of its log.
async fn logging(fixture: &DeploymentFixture) -> (Job, String) {
    let job = fixture.job_of(&fixture.pipeline).await;
    let step = job.steps[0].clone();
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    (job, step)
}

#[tokio::test]
async fn a_rejected_large_log_chunk_leaves_no_object() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (job, step) = logging(&fixture).await;
    let chunk = vec![b'x'; 300_000];
    // The step ends after the check and before the chunk is appended.
    let mut ending = pool.begin().await.unwrap();
    sqlx::query("update step_runs set status = 'succeeded'").execute(&mut *ending).await.unwrap();
    let end = async {
        let objects = &fixture.server.server.app.objects;
        let stored = eventually(TIMEOUT, || async { objects.names().await.unwrap().len() == 1 }).await;
        assert!(stored, "the chunk is not in the object store");
        ending.commit().await.unwrap();
    };
    let ((status, response), ()) = tokio::join!(fixture.log(&job, &step, 0, chunk.clone()), end);
    assert_eq!((status, response["code"].as_str()), (410, Some("job_gone")));
    assert!(nothing_is_stored(&fixture, &pool).await);

    // The same chunk twice, concurrently: one of the two objects is kept, and the log can be read.
    sqlx::query("update step_runs set status = 'running'").execute(&pool).await.unwrap();
    let mut waiting = pool.begin().await.unwrap();
    sqlx::query("select 1 from step_runs for update").execute(&mut *waiting).await.unwrap();
    let release = async {
        let objects = &fixture.server.server.app.objects;
        let stored = eventually(TIMEOUT, || async { objects.names().await.unwrap().len() == 2 }).await;
        assert!(stored, "the two chunks are not in the object store");
        waiting.commit().await.unwrap();
    };
    let (first, second, ()) =
        tokio::join!(fixture.log(&job, &step, 0, chunk.clone()), fixture.log(&job, &step, 0, chunk), release);
    assert_eq!((first.0, second.0), (200, 200));
    let left = fixture.server.server.app.objects.names().await.unwrap();
    let kept: Vec<String> =
        sqlx::query_scalar("select object from log_segments").fetch_all(&pool).await.unwrap();
    assert_eq!(left, kept);
    fixture.end().await;
}

/// A runner of another organization sends forged job tokens and bodies that never arrive.
#[tokio::test]
async fn slow_uploads_of_others_do_not_delay_a_log() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (job, step) = logging(&fixture).await;
    let globex = fixture.server.organization("globex").await;
    let made = json!({ "name": "runner-1" });
    let path = "/organizations/globex/runners";
    let (status, made) = fixture.server.json(Method::POST, path, &globex.token, Some(made)).await;
    assert_eq!(status, 201, "{made}");
    let runner_token = made["data"]["token"].as_str();
    let mut slow = Vec::new();
    for _ in 0..100 {
        let forged = fixture.forged_job();
        let path = format!("/steps/{step}/logs?offset=0&at=2026-11-15T12:00:00Z");
        let head = fixture.head("POST", &forged, &path, runner_token);
        let mut wire = TcpStream::connect(fixture.server.origin.trim_start_matches("http://")).await.unwrap();
        wire.write_all(format!("{head}Content-Length: 100000\r\n\r\nslow").as_bytes()).await.unwrap();
        slow.push(wire);
    }
    let mut offset = 0;
    for _ in 0..10 {
        let started = Instant::now();
        assert_eq!(fixture.log(&job, &step, offset, b"a line\n".to_vec()).await.0, 200);
        assert!(started.elapsed() < Duration::from_secs(3), "it waited for {:?}", started.elapsed());
        offset += 7;
    }
    // They time out, or are refused because their token has too many requests.
    drop(slow);
    fixture.end().await;
}
