//! Limits of a server: the size of request heads and the number of concurrent requests.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_server::http::Limits;
use reqwest::Method;
use sqlx::{ConnectOptions, PgPool};
use tokio::net::TcpStream;

use crate::requests::{header, new_pipeline, problem, success};
use crate::sse::Stream;
use crate::support::database::TestDatabase;
use crate::support::{TestServer, eventually};
use crate::wire::Wire;

async fn start_with(pool: &PgPool, deadline: Duration, in_flight: usize) -> TestServer {
    TestServer::start_on(pool.connect_options().to_url_lossy().as_str(), Limits::new(deadline, in_flight))
        .await
}

#[tokio::test]
async fn request_heads_have_a_maximum_size() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let many = |count: usize| (0..count).map(|number| format!("X-H{number}: x\r\n")).collect::<String>();
    // Host and Connection are sent too.
    assert_eq!(Wire::get(&server, "/livez", &many(62)).await.status, 200);
    assert_eq!(Wire::get(&server, "/livez", &many(65)).await.status, 431);
    assert_eq!(Wire::get(&server, "/livez", &many(5_000)).await.status, 431);
    let large = |bytes: usize| format!("X-Large: {}\r\n", "x".repeat(bytes));
    assert_eq!(Wire::get(&server, "/livez", &large(8 * 1024)).await.status, 200);
    assert_eq!(Wire::get(&server, "/livez", &large(20 * 1024)).await.status, 431);
    assert_eq!(Wire::get(&server, "/livez", &large(1024 * 1024)).await.status, 431);

    let target = |bytes: usize| format!("/docs/errors?{}", "x".repeat(bytes - 13));
    assert_eq!(Wire::get(&server, &target(4 * 1024), "").await.status, 200);
    let long = Wire::get(&server, &target(4 * 1024 + 1), "").await;
    assert_eq!((long.status, long.json()["code"].as_str()), (414, Some("uri_too_long")));
    assert_eq!(Wire::get(&server, &target(5 * 1024), "").await.status, 414);
    let longer = Wire::get(&server, &target(30 * 1024), "").await.status;
    assert!([414, 431].contains(&longer), "{longer}");
    server.end().await;
}

#[tokio::test]
async fn invalid_http_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    for garbage in [
        "\r\n\r\n\r\nhello\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n bad: folded\r\n\r\n",
        "POST /api/v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /api/v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /api/v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}",
    ] {
        let mut wire = Wire::connect(&server).await;
        wire.write(garbage).await.unwrap();
        let reply = wire.reply().await;
        assert!([0, 400].contains(&reply.status), "{garbage:?}: {reply:?}");
    }
    // Two contradicting lengths of a body allow request smuggling; the connection has to be closed.
    let mut wire = Wire::connect(&server).await;
    let smuggled = "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
                    0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    wire.write(smuggled).await.unwrap();
    let reply = wire.reply().await;
    assert!(!reply.body.contains("HTTP/1.1 404"), "{reply:?}");
    assert_eq!(server.status("/livez").await, 200);
    server.end().await;
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_immediately() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start_with(&pool, Duration::from_secs(15), 2).await;
    let owner = server.organization("acme").await;
    server.events(&pool, &owner).await;
    // Open streams take no request slot.
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(Stream::open(&server, &owner, "").await);
    }
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table events in access exclusive mode").execute(&mut *holding).await.unwrap();
    let list_events = || server.request(&owner, Method::GET, "/events").send();
    let mut at_work = tokio::task::JoinSet::new();
    at_work.spawn(list_events());
    at_work.spawn(list_events());
    let full =
        || async { server.request(&owner, Method::GET, "/pipelines").send().await.unwrap().status() == 503 };
    assert!(eventually(Duration::from_secs(1), full).await);
    let crowd = join_all((0..10).map(|_| server.request(&owner, Method::GET, "/pipelines").send()));
    let started = Instant::now();
    for response in crowd.await {
        let response = response.unwrap();
        assert_eq!(header(&response, "retry-after"), "1");
        problem(response, 503, "overloaded").await;
    }
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    // A busy server that fails its liveness probe would be restarted, which would increase the load.
    assert_eq!(server.status("/livez").await, 200, "a busy server is alive");
    assert!(eventually(Duration::from_secs(3), || server.is_ready()).await, "a busy server is ready");
    holding.rollback().await.unwrap();
    while let Some(response) = at_work.join_next().await {
        response.unwrap().unwrap();
    }
    server.pipeline(&owner, "One").await;
    for stream in &mut streams {
        assert_eq!(stream.message().await.event, "pipeline.created");
    }
    server.end().await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_times_out() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start_with(&pool, Duration::from_millis(1500), 16).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table pipelines in access exclusive mode").execute(&mut *holding).await.unwrap();
    let started = Instant::now();
    let given_up = server.request(&owner, Method::GET, "/pipelines/web").send().await.unwrap();
    assert_eq!(header(&given_up, "retry-after"), "1");
    problem(given_up, 503, "deadline_exceeded").await;
    let create =
        server.request(&owner, Method::POST, "/pipelines").json(&new_pipeline("Shop")).send().await.unwrap();
    problem(create, 503, "deadline_exceeded").await;
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
    assert_eq!(server.status("/livez").await, 200);
    holding.rollback().await.unwrap();
    // It leaves neither a lock nor a partial change.
    let again = || async {
        server.request(&owner, Method::GET, "/pipelines/web").send().await.unwrap().status() == 200
    };
    assert!(eventually(Duration::from_secs(5), again).await);
    let made = || async {
        let request = server.request(&owner, Method::POST, "/pipelines").json(&new_pipeline("Shop"));
        request.send().await.unwrap().status() == 201
    };
    assert!(eventually(Duration::from_secs(5), made).await);
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 2);
    server.end().await;
}

#[tokio::test]
async fn waiting_for_a_row_lock_times_out() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("select 1 from pipelines for update").execute(&mut *holding).await.unwrap();
    let started = Instant::now();
    let stop = server.request(&owner, Method::POST, "/pipelines/web/stop").send().await.unwrap();
    assert_eq!(header(&stop, "retry-after"), "1");
    problem(stop, 503, "busy").await;
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    // Reads do not wait.
    assert_eq!(server.get(&owner, "/pipelines/web").await["data"]["status"], "active");
    holding.rollback().await.unwrap();
    success(server.request(&owner, Method::POST, "/pipelines/web/stop").send().await.unwrap(), 200).await;
    server.end().await;
}

#[tokio::test]
async fn waiting_for_a_lock_on_tokens_times_out() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table api_tokens in access exclusive mode").execute(&mut *holding).await.unwrap();
    // Concurrent requests share one lookup and its result.
    for response in join_all((0..5).map(|_| server.request(&owner, Method::GET, "/pipelines").send())).await {
        let response = response.unwrap();
        assert_eq!(header(&response, "retry-after"), "1");
        problem(response, 503, "busy").await;
    }
    holding.rollback().await.unwrap();
    server.get(&owner, "/pipelines").await;
    server.end().await;
}

#[tokio::test]
async fn heavy_idle_connections_do_not_block_others() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let address = server.origin.trim_start_matches("http://").to_owned();
    let idle: Vec<TcpStream> = join_all((0..2_000).map(|_| TcpStream::connect(&address)))
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let started = Instant::now();
    for _ in 0..20 {
        server.get(&owner, "/pipelines").await;
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    drop(idle);
    server.end().await;
}
