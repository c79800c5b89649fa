//! The API's ground rules, tried over HTTP.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/mod.rs"]
mod support;

use reqwest::Method;
use sqlx::PgPool;

use support::TestServer;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_new_pipeline_is_listed(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = server.pipeline(&owner, "Web shop").await;
    let (status, listed) =
        server.json(Method::GET, "/organizations/acme/pipelines", &owner.token, None).await;
    assert_eq!(status, 200);
    assert_eq!(listed["data"][0]["id"], id);
    assert_eq!(listed["pagination"]["total"], 1);
    server.server.stop(std::time::Duration::ZERO).await;
}
