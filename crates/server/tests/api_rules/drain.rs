//! Graceful shutdown: readiness fails first, running requests finish, and no new ones are accepted.

use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::requests::new_pipeline;
use crate::sse::Stream;
use crate::support::database::TestDatabase;
use crate::support::{TestServer, eventually};
use crate::wire::{Upload, Wire};

const TIMEOUT: Duration = Duration::from_secs(3);

#[tokio::test]
async fn running_requests_finish_and_new_connections_are_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let upload = Upload::begin(&server, &owner, "/pipelines", &new_pipeline("Last")).await;
    let address = server.origin.trim_start_matches("http://").to_owned();
    let store = server.server.app.store.clone();
    let stop = server.server.stop(Duration::ZERO);
    let rest = async {
        assert!(
            eventually(TIMEOUT, || async { TcpStream::connect(&address).await.is_err() }).await,
            "it still accepts"
        );
        let reply = upload.finish().await;
        assert_eq!(reply.status, 201, "{reply:?}");
        assert_eq!(reply.json()["data"]["slug"], "last");
        assert!(reply.head.contains("connection: close"), "{reply:?}");
        Instant::now()
    };
    let ((), ended) = tokio::join!(stop, rest);
    assert!(ended.elapsed() < TIMEOUT, "it went on for {:?}", ended.elapsed());
    store.close().await;

    // Events that it has not sequenced are sequenced by the next server.
    let next = TestServer::start(&pool).await;
    assert_eq!(next.events(&pool, &owner).await.last().unwrap()["type"], "pipeline.created");
    next.end().await;
}

#[tokio::test]
async fn readiness_fails_before_the_server_stops_accepting() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    assert!(eventually(TIMEOUT, || server.is_ready()).await);
    let mut stream = Stream::open(&server, &owner, "").await;
    let TestServer { server: running, base, origin, client } = server;
    let store = running.app.store.clone();
    let get = |path: String| client.get(path).bearer_auth(&owner.token).send();
    let began = Instant::now();
    let stop = async {
        running.stop(Duration::from_secs(2)).await;
        began.elapsed()
    };
    let meanwhile = async {
        assert!(
            eventually(TIMEOUT, || async { get(format!("{origin}/readyz")).await.unwrap().status() == 503 })
                .await
        );
        assert_eq!(get(format!("{origin}/readyz")).await.unwrap().text().await.unwrap(), "draining\n");
        assert_eq!(get(format!("{origin}/livez")).await.unwrap().status(), 200);
        // Requests of a load balancer that has not noticed yet are still served.
        assert_eq!(get(format!("{base}/me")).await.unwrap().status(), 200);
        // Streams end immediately, so that their readers connect to another server.
        assert!(stream.ends(Duration::from_secs(1)).await);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    };
    let (took, ()) = tokio::join!(stop, meanwhile);
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(5), "{took:?}");
    store.close().await;
}

#[tokio::test]
async fn idle_connections_do_not_delay_the_shutdown() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let _silent = Wire::connect(&server).await;
    let mut kept = Wire::connect(&server).await;
    kept.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(Stream::open(&server, &owner, "").await);
    }
    server.get(&owner, "").await;
    let began = Instant::now();
    server.end().await;
    assert!(began.elapsed() < TIMEOUT, "{:?}", began.elapsed());
}
