//! The network between the server and its database breaks: it says so, answers, and comes back by itself.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_server::http::Limits;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::ask::{good, new_pipeline};
use crate::proxy::{Network, Proxy};
use crate::sse::{Read, Stream};
use crate::support::{Caller, TestServer, eventually};

const NOTICED: Duration = Duration::from_secs(5);
const ANSWERED: Duration = Duration::from_secs(16);
const RECOVERED: Duration = Duration::from_secs(10);

struct Outage {
    proxy: Proxy,
    server: TestServer,
    owner: Caller,
    /// Opened before it.
    stream: Stream,
}

impl Outage {
    /// A server with much to do and a pool of good connections, and then none of them is.
    async fn begin(pool: &PgPool, network: Network) -> Self {
        let proxy = Proxy::start(pool, Network::Good).await;
        let limits = Limits::new(Duration::from_secs(15), 512);
        let server = TestServer::start_on(&proxy.database_url, limits).await;
        let owner = server.organization("acme").await;
        server.pipeline(&owner, "Web").await;
        assert!(eventually(NOTICED, || server.is_ready()).await);
        server.events(pool, &owner).await;
        let stream = Stream::open(&server, &owner, "?category=deployment").await;
        let busy = join_all((0..32).map(|_| async {
            loop {
                good(server.ask(&owner, Method::GET, "/pipelines/web").send().await.unwrap(), 200).await;
            }
        }));
        // It breaks in the middle of this, and whoever asked goes away.
        assert!(tokio::time::timeout(Duration::from_millis(300), busy).await.is_err());
        proxy.set(network);
        Self { proxy, server, owner, stream }
    }

    async fn create(&self, key: &str) -> Response {
        let request = self.server.ask(&self.owner, Method::POST, "/pipelines").header("idempotency-key", key);
        request.json(&new_pipeline(key)).send().await.unwrap()
    }

    /// While it lasts: alive, not ready, and every request is answered in time.
    async fn is_told(&self) {
        let began = Instant::now();
        let unready = async {
            assert!(
                eventually(NOTICED, || async { !self.server.is_ready().await }).await,
                "it says it is ready"
            );
            began.elapsed()
        };
        let requests = async {
            let reads =
                join_all((0..5).map(|_| self.server.ask(&self.owner, Method::GET, "/pipelines/web").send()));
            let (reads, changed) = tokio::join!(reads, self.create("during"));
            for response in reads.into_iter().map(Result::unwrap).chain([changed]) {
                is_unavailable(response).await;
            }
            assert!(began.elapsed() < ANSWERED, "answered after {:?}", began.elapsed());
        };
        let alive = async {
            for _ in 0..50 {
                let asked = Instant::now();
                assert_eq!(self.server.status("/livez").await, 200);
                assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let (_, (), ()) = tokio::join!(unready, requests, alive);
        assert!(!self.server.is_ready().await);
        // It is known by now, and nobody waits long for what is known.
        is_unavailable(self.server.ask(&self.owner, Method::GET, "/pipelines/web").send().await.unwrap())
            .await;
        assert!(!self.server.is_ready().await);
    }

    /// While it lasts, when nobody asks.
    async fn is_noticed(&self) {
        assert!(eventually(NOTICED, || async { !self.server.is_ready().await }).await, "it says it is ready");
    }

    /// Afterwards: ready, and everything that was asked for happens, once.
    async fn ends(mut self, pool: &PgPool) {
        self.proxy.set(Network::Good);
        let lifted = Instant::now();
        assert!(
            eventually(NOTICED, || self.server.is_ready()).await,
            "not ready {:?} after it",
            lifted.elapsed()
        );
        let round = || async {
            let asked =
                join_all((0..16).map(|_| self.server.ask(&self.owner, Method::GET, "/pipelines/web").send()));
            asked.await.into_iter().all(|response| response.unwrap().status() == 200)
        };
        assert!(eventually(RECOVERED, round).await, "requests fail {:?} after it", lifted.elapsed());
        // A change whose outcome was not known is repeated with its key, and has happened once.
        good(self.create("during").await, 201).await;
        let listed = self.server.get(&self.owner, "/pipelines").await;
        let slugs: Vec<&Value> =
            listed["data"].as_array().unwrap().iter().map(|pipeline| &pipeline["slug"]).collect();
        assert_eq!(slugs, ["during", "web"]);
        assert_eq!(listed["pagination"]["total"], 2);
        assert!(lifted.elapsed() < RECOVERED, "{:?}", lifted.elapsed());

        // What goes on beside the requests has recovered as well: events get their place, streams hear of them.
        let sequenced = eventually(RECOVERED, || async {
            sqlx::query_scalar::<_, i64>("select count(*) from event_intake").fetch_one(pool).await.unwrap()
                == 0
        });
        assert!(sequenced.await, "events are not sequenced {:?} after it", lifted.elapsed());
        let mut new = Stream::open(&self.server, &self.owner, "?after=0&category=deployment").await;
        assert_eq!(new.messages(2).await[1].data["data"]["after"]["slug"], "during");
        let heard = loop {
            match self.stream.read(RECOVERED).await {
                Read::Comment => {}
                heard => break heard,
            }
        };
        match heard {
            // Ended is as good: its reader comes back.
            Read::Ended => {}
            Read::Message(message) => assert_eq!(message.data["data"]["after"]["slug"], "during"),
            other => assert_eq!(other, Read::Ended, "a stream of before was left behind"),
        }
        // By NOTIFY, as before, and not only by looking every second.
        let mut delays = Vec::new();
        for number in 0..9 {
            good(self.create(&format!("after-{number}")).await, 201).await;
            let answered = Instant::now();
            assert_eq!(new.message().await.data["data"]["after"]["slug"], format!("after-{number}"));
            delays.push(answered.elapsed());
        }
        delays.sort_unstable();
        assert!(delays[4] < Duration::from_millis(300), "events are late after it: {delays:?}");

        // And so has the watch over streams.
        let made = self.server.post(&self.owner, "/api-tokens", json!({ "name": "second" })).await;
        let second = Caller { token: made["token"].as_str().unwrap().to_owned(), ..self.owner.clone() };
        let mut watched = Stream::open(&self.server, &second, "").await;
        let revoke = format!("/api-tokens/{}", made["id"].as_str().unwrap());
        good(self.server.ask(&self.owner, Method::DELETE, &revoke).send().await.unwrap(), 200).await;
        assert!(watched.ends(Duration::from_secs(3)).await, "a revoked token still has its stream");
        self.server.end().await;
    }
}

async fn is_unavailable(response: Response) {
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "1");
    let body: Value = response.json().await.unwrap();
    assert!(["database_unavailable", "deadline_exceeded"].map(Value::from).contains(&body["code"]), "{body}");
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_silence_that_passes(pool: PgPool) {
    let outage = Outage::begin(&pool, Network::Hole).await;
    outage.is_told().await;
    outage.ends(&pool).await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_silence_that_old_connections_never_leave(pool: PgPool) {
    let outage = Outage::begin(&pool, Network::Grave).await;
    outage.is_told().await;
    outage.ends(&pool).await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_silence_in_which_nobody_asked(pool: PgPool) {
    let outage = Outage::begin(&pool, Network::Grave).await;
    outage.is_noticed().await;
    outage.ends(&pool).await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_connections_that_are_reset(pool: PgPool) {
    let outage = Outage::begin(&pool, Network::Reset).await;
    outage.is_told().await;
    outage.ends(&pool).await;
}

/// A reader who was in the middle of the history is not left hanging there: the stream goes on, or ends.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_a_stream_that_was_behind(pool: PgPool) {
    let outage = Outage::begin(&pool, Network::Good).await;
    let (server, owner) = (&outage.server, &outage.owner);
    sqlx::query(
        "insert into event_intake (organization_id, type, category, subject, data)
         select id, 'pipeline.updated', 'deployment', 'pipelines/x', jsonb_build_object('reason', repeat('x', 4000))
         from organizations, generate_series(1, 6000)",
    )
    .execute(&pool)
    .await
    .unwrap();
    let head = server.head(&pool, owner).await;
    let mut stream = Stream::open(server, owner, "?after=0").await;
    let mut seen = stream.message().await.id;
    outage.proxy.set(Network::Grave);
    outage.is_noticed().await;
    // What was on its way still comes, and is not all.
    while let Read::Message(message) = stream.read(Duration::from_secs(1)).await {
        seen = message.id;
    }
    assert!(seen < head, "{seen} of {head}");
    outage.proxy.set(Network::Good);
    let lifted = Instant::now();
    while seen < head {
        match stream.read(Duration::from_secs(1)).await {
            Read::Message(message) => seen = message.id,
            Read::Ended => break,
            Read::Comment | Read::Silent => {
                assert!(lifted.elapsed() < ANSWERED, "it hangs at {seen} of {head}")
            }
        }
    }
    outage.server.end().await;
}
