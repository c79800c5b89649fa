//! Downloads: one piece at a time, so many at once, and not beyond the end of the token.

use std::time::Duration;

use greenroom_domain::token::TokenSecret;
use greenroom_server::app::authentication::Found;
use greenroom_server::app::log::{READ_BYTES, parts};
use greenroom_server::app::vigil::Watch;
use greenroom_server::limits::Class;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Caller, eventually};
use crate::yard::{Job, Yard};

const DEFINITION: &str = r#"
stages:
  build:
    artifacts: [out]
    steps: [{ image: a, run: "true" }]
"#;
const MIB: usize = 1024 * 1024;
/// More than what fits in between a server and a client that does not read.
const LOG_MIB: usize = 48;
const SOON: Duration = Duration::from_secs(5);

struct Logged {
    yard: Yard,
    job: Job,
    deployment: String,
    step: String,
}

/// A step with a log of so many MiB.
async fn logged(pool: &PgPool, mib: usize) -> Logged {
    let yard = Yard::new(pool, DEFINITION).await;
    let deployment = yard.start().await;
    let job = yard.take(&yard.advance(&deployment).await).await;
    let step = job.steps[0].clone();
    assert_eq!(yard.say(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    for number in 0..mib {
        let (status, answer) = yard.log(&job, &step, (number * MIB) as u64, vec![b'x'; MIB]).await;
        assert_eq!(status, 200, "{answer}");
    }
    Logged { yard, job, deployment, step }
}

impl Logged {
    async fn download(&self, caller: &Caller) -> Response {
        let path = format!("/organizations/acme/deployments/{}/steps/{}/logs", self.deployment, self.step);
        self.yard.server.send(Method::GET, &path, Some(&caller.token), None).await
    }

    /// The watch over the downloads of a token, which ends with them.
    async fn watch(&self, caller: &Caller) -> Watch {
        let app = &self.yard.server.server.app;
        let secret: TokenSecret = caller.token.parse().unwrap();
        let found = app.authentication.principal(secret.hash(), Class::General).await.unwrap();
        let principal = match found {
            Found::Valid(principal) => Some(principal),
            Found::Rejected { .. } => None,
        };
        app.vigil.watch(&principal.unwrap())
    }

    /// A second token of the owner.
    async fn second_token(&self) -> Caller {
        let (status, made) = self.yard.call(Method::POST, "/api-tokens", json!({ "name": "second" })).await;
        assert_eq!(status, 201, "{made}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (token, token_id) = (text(&made["data"]["token"]), text(&made["data"]["id"]));
        Caller { token, token_id, ..self.yard.owner.clone() }
    }
}

/// Reads on to the end, and how many bytes came; `Err` if it broke off.
async fn rest(mut response: Response) -> Result<usize, usize> {
    let mut bytes = 0;
    loop {
        match tokio::time::timeout(SOON, response.chunk()).await {
            Ok(Ok(Some(piece))) => bytes += piece.len(),
            Ok(Ok(None)) => return Ok(bytes),
            Ok(Err(_)) => return Err(bytes),
            // It stands still.
            Err(_) => return Err(usize::MAX),
        }
    }
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_reader_gets_one_bounded_piece_at_a_time(pool: PgPool) {
    let log = logged(&pool, 2).await;
    let (app, step) = (&log.yard.server.server.app, log.step.parse().unwrap());
    // Small pieces after the large ones: those come together.
    let mut end = 2 * MIB as u64;
    for _ in 0..40 {
        assert_eq!(log.yard.log(&log.job, &log.step, end, vec![b'y'; 20_000]).await.0, 200);
        end += 20_000;
    }
    let (mut at, mut reads) = (0, 0);
    while at < end {
        let parts = parts(app, log.yard.organization(), step, (at, end), READ_BYTES).await.unwrap();
        let read: u64 = parts.iter().map(|part| part.bytes.len() as u64).sum();
        assert!(read > 0 && read <= READ_BYTES, "{read} bytes at {at}");
        assert!(parts.iter().all(|part| part.start >= at));
        at += read;
        reads += 1;
    }
    assert!(reads <= 14, "{reads} reads");
    log.yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_download_ends_with_its_token(pool: PgPool) {
    let log = logged(&pool, LOG_MIB).await;
    let second = log.second_token().await;
    let (kept, cut) = (log.download(&log.yard.owner).await, log.download(&second).await);
    assert_eq!((kept.status().as_u16(), cut.status().as_u16()), (200, 200));
    let watch = log.watch(&second).await;
    let path = format!("/api-tokens/{}", second.token_id);
    assert_eq!(log.yard.call(Method::DELETE, &path, Value::Null).await.0, 200);
    tokio::time::timeout(SOON, watch.ended()).await.unwrap();
    let read = rest(cut).await;
    assert!(read.is_err_and(|bytes| bytes < LOG_MIB * MIB / 2), "{read:?} bytes came after the revocation");
    assert_eq!(rest(kept).await, Ok(LOG_MIB * MIB));
    log.yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_download_ends_with_its_membership(pool: PgPool) {
    let log = logged(&pool, LOG_MIB).await;
    let member = log.yard.server.member(&log.yard.owner, "acme", "viewer").await;
    let cut = log.download(&member).await;
    assert_eq!(cut.status(), 200);
    let watch = log.watch(&member).await;
    let path = format!("/members/{}", member.user);
    assert_eq!(log.yard.call(Method::DELETE, &path, Value::Null).await.0, 200);
    tokio::time::timeout(SOON, watch.ended()).await.unwrap();
    let read = rest(cut).await;
    assert!(read.is_err_and(|bytes| bytes < LOG_MIB * MIB / 2), "{read:?} bytes came after the removal");
    log.yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_runners_download_ends_with_its_token(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let job = yard.job_of(&yard.pipeline).await;
    let put = yard.request_by(Method::PUT, &job, "/artifact").body(vec![0; LOG_MIB * MIB]);
    assert_eq!(put.send().await.unwrap().status(), 200);
    let id: String = sqlx::query_scalar("select 'art_' || id from artifacts").fetch_one(&pool).await.unwrap();
    let get = || yard.request_by(Method::GET, &job, &format!("/artifacts/{id}")).send();
    let (whole, cut) = (get().await.unwrap(), get().await.unwrap());
    assert_eq!((whole.status().as_u16(), cut.status().as_u16()), (200, 200));
    assert_eq!(rest(whole).await, Ok(LOG_MIB * MIB));
    let watch = yard.server.server.app.vigil.watch_runner(&yard.runner);
    let path = format!("/runners/{}", yard.runner.id);
    assert_eq!(yard.call(Method::DELETE, &path, Value::Null).await.0, 200);
    tokio::time::timeout(SOON, watch.ended()).await.unwrap();
    let read = rest(cut).await;
    assert!(read.is_err_and(|bytes| bytes < LOG_MIB * MIB / 2), "{read:?} bytes came after the revocation");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_token_has_so_many_downloads_at_once(pool: PgPool) {
    let log = logged(&pool, LOG_MIB).await;
    let second = log.second_token().await;
    let mut unread = Vec::new();
    let refused = loop {
        let response = log.download(&log.yard.owner).await;
        if response.status() != 200 || unread.len() > 100 {
            break response;
        }
        unread.push(response);
    };
    assert_eq!((refused.status().as_u16(), unread.len()), (429, 16));
    assert_eq!(refused.headers()["retry-after"], "1");
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["code"], "rate_limited");
    assert_eq!(log.download(&second).await.status(), 200, "another token has its own share");
    drop(unread);
    let again = || async { log.download(&log.yard.owner).await.status() == 200 };
    assert!(eventually(SOON, again).await, "what was closed does not count any more");
    log.yard.end().await;
}
