//! The database starts late, has another schema version, or restarts.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_app::token::new_secret;
use greenroom_server::http::Limits;
use reqwest::Method;
use serde_json::json;
use sqlx::ConnectOptions;

use crate::proxy::{Network, Proxy};
use crate::requests::{header, problem};
use crate::sse::Stream;
use crate::support::database::TestDatabase;
use crate::support::{TestServer, eventually};

const TIMEOUT: Duration = Duration::from_secs(5);

async fn start_on(database_url: &str) -> TestServer {
    TestServer::start_with_full_pools(database_url, Limits::new(Duration::from_secs(15), 512)).await
}

#[tokio::test]
async fn without_a_database_the_server_is_alive_and_not_ready() {
    let server = start_on("postgres://postgres@127.0.0.1:1/nothing").await;
    for (path, status) in
        [("/livez", 200), ("/readyz", 503), ("/", 200), ("/docs/errors", 200), ("/api/v1/openapi.json", 200)]
    {
        assert_eq!(server.status(path).await, status, "{path}");
    }
    let started = Instant::now();
    let secret = new_secret();
    let responses = join_all(
        (0..20).map(|_| server.client.get(format!("{}/me", server.base)).bearer_auth(secret.reveal()).send()),
    );
    for response in responses.await {
        let response = response.unwrap();
        assert_eq!(header(&response, "retry-after"), "1");
        let refused = problem(response, 503, "database_unavailable").await.to_string();
        assert!(!refused.contains("127.0.0.1") && !refused.contains("refused"), "{refused}");
    }
    assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
    // Operations without the database work.
    let torn =
        server.client.get(format!("{}/me", server.base)).bearer_auth("grn_nonsense").send().await.unwrap();
    problem(torn, 401, "unauthenticated").await;
    assert_eq!(server.status("/livez").await, 200);
    assert_eq!(server.status("/readyz").await, 503);
    server.end().await;
}

#[tokio::test]
async fn the_server_becomes_ready_when_the_database_appears() {
    let (_database, pool) = TestDatabase::create().await;
    let proxy = Proxy::start(&pool, Network::Reset).await;
    let server = start_on(&proxy.database_url).await;
    assert!(!eventually(Duration::from_secs(2), || server.is_ready()).await);
    assert_eq!(server.status("/livez").await, 200);
    proxy.set(Network::Good);
    assert!(eventually(TIMEOUT, || server.is_ready()).await);
    let owner = server.organization("acme").await;
    let mut stream = Stream::open(&server, &owner, "?after=0&category=deployment").await;
    server.pipeline(&owner, "Web").await;
    assert_eq!(stream.message().await.event, "pipeline.created");
    server.end().await;
}

#[tokio::test]
async fn a_server_on_an_old_schema_is_not_ready() {
    let (_database, pool) = TestDatabase::create().await;
    greenroom_store::MIGRATOR.undo(&pool, 2).await.unwrap();
    let server = TestServer::start(&pool).await;
    assert!(!eventually(Duration::from_secs(2), || server.is_ready()).await);
    assert_eq!(server.status("/livez").await, 200);
    greenroom_store::MIGRATOR.run(&pool).await.unwrap();
    assert!(eventually(TIMEOUT, || server.is_ready()).await);
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    assert_eq!(server.events(&pool, &owner).await.last().unwrap()["type"], "pipeline.created");
    server.end().await;
}

#[tokio::test]
async fn terminated_connections_are_replaced() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let round = || async {
        let responses =
            join_all((0..16).map(|_| server.request(&owner, Method::GET, "/pipelines/web").send())).await;
        let statuses: Vec<u16> =
            responses.into_iter().map(|response| response.unwrap().status().as_u16()).collect();
        assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
        statuses.iter().all(|status| *status == 200)
    };
    assert!(round().await);
    server.events(&pool, &owner).await;
    let mut stream = Stream::open(&server, &owner, "").await;
    for number in 0..3 {
        // As a restart or a failover does to all connections.
        let cut: i64 = sqlx::query_scalar(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where datname = current_database() and application_name ^@ 'greenroom/'",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        assert!(cut > 0, "there was no connection to terminate");
        assert!(eventually(TIMEOUT, round).await);
        assert!(eventually(TIMEOUT, || server.is_ready()).await);
        let mode = ["drain", "pause", "cancel"][number];
        server.post(&owner, "/pipelines/web/stop", json!({ "mode": mode })).await;
        let stopping_since = Instant::now();
        assert_eq!(stream.message().await.data["data"]["after"]["stopMode"], mode);
        assert!(stopping_since.elapsed() < TIMEOUT, "{:?}", stopping_since.elapsed());
    }
    server.end().await;
}

/// Opening one under load can take longer than a request waits for a connection.
#[tokio::test]
async fn the_connections_for_requests_are_open_before_the_first_request() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start_on(pool.connect_options().to_url_lossy().as_str()).await;
    let reserved = "select count(*) from pg_stat_activity
                    where datname = current_database() and application_name ^@ 'greenroom-reserved/'";
    let are_open = async || {
        let reserved: i64 = sqlx::query_scalar(reserved).fetch_one(&pool).await.unwrap();
        let settings = &server.server.app.limits.settings;
        server.server.app.store.connections().open == 8
            && reserved == i64::from(settings.reserved_connections)
    };
    assert!(eventually(TIMEOUT, are_open).await, "{:?}", server.server.app.store.connections());
    server.end().await;
}

/// As after a restart of PostgreSQL that is shorter than the interval of the health check.
#[tokio::test]
async fn terminated_connections_that_were_idle_fail_no_query() {
    const CONNECTIONS: u32 = 4;
    let (_database, pool) = TestDatabase::create().await;
    let url = pool.connect_options().to_url_lossy();
    let settings = greenroom_store::PoolSettings::new(url, "idle", CONNECTIONS);
    let idle = greenroom_store::connect(&settings).unwrap();
    drop(join_all((0..CONNECTIONS).map(|_| idle.acquire())).await);
    let terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                     where datname = current_database() and application_name = 'idle'";
    let terminated: i64 = sqlx::query_scalar(terminate).fetch_one(&pool).await.unwrap();
    assert_eq!(terminated, i64::from(CONNECTIONS));
    tokio::time::sleep(Duration::from_millis(600)).await;
    for _ in 0..CONNECTIONS {
        let one: i32 = sqlx::query_scalar("select 1").fetch_one(&idle).await.unwrap();
        assert_eq!(one, 1);
    }
    idle.close().await;
}
