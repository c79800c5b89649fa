//! A server that is told to stop: it says so, ends what it began, and takes nothing new.

use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio::net::TcpStream;

use crate::ask::new_pipeline;
use crate::sse::Stream;
use crate::support::{TestServer, eventually};
use crate::wire::{Upload, Wire};

const SOON: Duration = Duration::from_secs(3);

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_was_begun_is_ended_and_nothing_new_is_taken(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let upload = Upload::begin(&server, &owner, "/pipelines", &new_pipeline("Last")).await;
    let address = server.origin.trim_start_matches("http://").to_owned();
    let store = server.server.app.store.clone();
    let stop = server.server.stop(Duration::ZERO);
    let rest = async {
        assert!(
            eventually(SOON, || async { TcpStream::connect(&address).await.is_err() }).await,
            "it still accepts"
        );
        let reply = upload.finish().await;
        assert_eq!(reply.status, 201, "{reply:?}");
        assert_eq!(reply.json()["data"]["slug"], "last");
        assert!(reply.head.contains("connection: close"), "{reply:?}");
        Instant::now()
    };
    let ((), ended) = tokio::join!(stop, rest);
    assert!(ended.elapsed() < SOON, "it went on for {:?}", ended.elapsed());
    store.close().await;

    // What it did not get to tell, the next one tells.
    let next = TestServer::start(&pool).await;
    assert_eq!(next.events(&pool, &owner).await.last().unwrap()["type"], "pipeline.created");
    next.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_says_so_before_it_stops_accepting(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    assert!(eventually(SOON, || server.is_ready()).await);
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
            eventually(SOON, || async { get(format!("{origin}/readyz")).await.unwrap().status() == 503 })
                .await
        );
        assert_eq!(get(format!("{origin}/readyz")).await.unwrap().text().await.unwrap(), "draining\n");
        assert_eq!(get(format!("{origin}/livez")).await.unwrap().status(), 200);
        // A balancer that has not noticed yet is still served.
        assert_eq!(get(format!("{base}/me")).await.unwrap().status(), 200);
        // Streams end at once, so that their readers go elsewhere.
        assert!(stream.ends(Duration::from_secs(1)).await);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    };
    let (took, ()) = tokio::join!(stop, meanwhile);
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(5), "{took:?}");
    store.close().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn who_is_idle_does_not_hold_it_up(pool: PgPool) {
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
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}
