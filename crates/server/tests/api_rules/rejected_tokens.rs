//! Invalid tokens that are sent repeatedly: a program that has not noticed does not affect others at its
//! address.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_app::token::{new_secret, new_secret_of};
use greenroom_domain::token::SecretKind;
use reqwest::{Method, Response};
use serde_json::json;
use sqlx::PgPool;

use crate::forged_tokens::until_refused;
use crate::requests::problem;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer, eventually};

/// Fewer than an address may have concurrently without a valid token.
const CONCURRENT_REQUESTS: usize = 50;

async fn me(server: &TestServer, token: &str) -> Response {
    server.send(Method::GET, "/me", Some(token), None).await
}

/// A request for a job, as a runner sends it. It never waits: its body is invalid.
async fn poll(server: &TestServer, token: &str) -> Response {
    server.send(Method::POST, "/runner/jobs/acquire", Some(token), Some(json!({ "wait": "none" }))).await
}

async fn revoke(pool: &PgPool, caller: &Caller) {
    let sql = "update api_tokens set revoked_at = clock_timestamp() where 'tok_' || id = $1";
    assert_eq!(sqlx::query(sql).bind(&caller.token_id).execute(pool).await.unwrap().rows_affected(), 1);
}

/// Creates members with tokens that the server has not validated yet.
async fn members(server: &TestServer, owner: &Caller, count: usize) -> Vec<Caller> {
    let mut members = Vec::new();
    for _ in 0..count {
        members.push(server.member(owner, "acme", "viewer").await);
    }
    members
}

/// Sends the revoked token 500 times, and in between each new token once.
async fn new_tokens_are_served(server: &TestServer, revoked: &Caller, new: &[Caller; 10]) {
    for new in new {
        for response in join_all((0..CONCURRENT_REQUESTS).map(|_| me(server, &revoked.token))).await {
            problem(response, 401, "unauthenticated").await;
        }
        let response = me(server, &new.token).await;
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    }
}

#[tokio::test]
async fn a_revoked_token_does_not_block_new_ones() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let new = members(&server, &owner, 10).await.try_into().unwrap();
    let revoked = server.member(&owner, "acme", "viewer").await;
    revoke(&pool, &revoked).await;
    new_tokens_are_served(&server, &revoked, &new).await;
    server.end().await;
}

#[tokio::test]
async fn a_token_revoked_after_use_is_rejected_within_a_second() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let new = members(&server, &owner, 10).await.try_into().unwrap();
    let revoked = server.member(&owner, "acme", "viewer").await;
    server.get(&revoked, "").await;
    revoke(&pool, &revoked).await;
    let is_rejected = async || me(&server, &revoked.token).await.status() == 401;
    assert!(eventually(Duration::from_secs(1), is_rejected).await);
    new_tokens_are_served(&server, &revoked, &new).await;
    server.end().await;
}

#[tokio::test]
async fn concurrent_requests_with_one_token_count_once() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let new = server.member(&owner, "acme", "viewer").await;
    for _ in 0..5 {
        let (user, runner) = (new_secret(), new_secret_of(SecretKind::Runner));
        for response in join_all((0..CONCURRENT_REQUESTS).map(|_| me(&server, user.reveal()))).await {
            problem(response, 401, "unauthenticated").await;
        }
        for response in join_all((0..CONCURRENT_REQUESTS).map(|_| poll(&server, runner.reveal()))).await {
            problem(response, 401, "unauthenticated").await;
        }
    }
    assert_eq!(me(&server, &new.token).await.status(), 200);
    server.end().await;
}

#[tokio::test]
async fn repeated_rejections_need_no_database() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let member = server.member(&owner, "acme", "viewer").await;
    let runner = server.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    let (path, runner) =
        (format!("/runners/{}", runner["id"].as_str().unwrap()), runner["token"].as_str().unwrap());
    assert_eq!(server.request(&owner, Method::DELETE, &path).send().await.unwrap().status(), 200);
    revoke(&pool, &member).await;
    problem(me(&server, &member.token).await, 401, "unauthenticated").await;
    problem(poll(&server, runner).await, 410, "runner_revoked").await;
    // They are not refused like unknown tokens either, while forged tokens are sent from the same address.
    until_refused(&server, None).await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table api_tokens, runners in access exclusive mode")
        .execute(&mut *holding)
        .await
        .unwrap();
    for _ in 0..10 {
        let started = Instant::now();
        problem(me(&server, &member.token).await, 401, "unauthenticated").await;
        problem(poll(&server, runner).await, 410, "runner_revoked").await;
        assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
    }
    holding.rollback().await.unwrap();
    server.end().await;
}

#[tokio::test]
async fn a_failed_lookup_does_not_reject_a_token() {
    let (_database, pool) = TestDatabase::create().await;
    let (first, server) = (TestServer::start(&pool).await, TestServer::start(&pool).await);
    let owner = first.organization("acme").await;
    let runner = first.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    let runner = runner["token"].as_str().unwrap();
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table api_tokens, runners in access exclusive mode")
        .execute(&mut *holding)
        .await
        .unwrap();
    let (user, job) = tokio::join!(me(&server, &owner.token), poll(&server, runner));
    problem(user, 503, "busy").await;
    problem(job, 503, "busy").await;
    holding.rollback().await.unwrap();
    assert_eq!(me(&server, &owner.token).await.status(), 200);
    assert_ne!(poll(&server, runner).await.status(), 401);
    server.end().await;
    first.end().await;
}

/// A request whose token could not be looked up may be valid: requests with invalid tokens from the same address do
/// not use up its rate.
#[tokio::test]
async fn a_failed_lookup_does_not_count_for_the_address() {
    let (_database, pool) = TestDatabase::create().await;
    let (first, server) = (TestServer::start(&pool).await, TestServer::start(&pool).await);
    let owner = first.organization("acme").await;
    let revoked = first.member(&owner, "acme", "viewer").await;
    revoke(&pool, &revoked).await;
    problem(me(&server, &revoked.token).await, 401, "unauthenticated").await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table api_tokens in access exclusive mode").execute(&mut *holding).await.unwrap();
    let valid = me(&server, &owner.token);
    let mut limited = 0;
    let flood = async {
        loop {
            let responses = join_all((0..CONCURRENT_REQUESTS).map(|_| me(&server, &revoked.token))).await;
            limited += responses.iter().filter(|response| response.status() == 429).count();
        }
    };
    tokio::select! {
        response = valid => problem(response, 503, "busy").await,
        () = flood => unreachable!(),
    };
    assert!(limited > 0, "the address was never at its limit");
    holding.rollback().await.unwrap();
    server.end().await;
    first.end().await;
}
