//! Outages of the network between the server and its database: readiness fails, requests get a response, and
//! the server recovers without a restart.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_server::http::Limits;
use greenroom_store::ConnectionCounts;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::proxy::{Network, Proxy};
use crate::requests::{new_pipeline, success};
use crate::sse::{Read, Stream};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer, eventually, record_large_events};

const DETECTION_TIMEOUT: Duration = Duration::from_secs(5);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(16);
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);

struct OutageFixture {
    proxy: Proxy,
    server: TestServer,
    owner: Caller,
    /// Opened before the outage.
    stream: Stream,
}

impl OutageFixture {
    /// Starts a server with a full pool of connections and running requests, and then the outage.
    async fn begin(pool: &PgPool, network: Network) -> Self {
        let proxy = Proxy::start(pool, Network::Good).await;
        let limits = Limits::new(Duration::from_secs(15), 512);
        let server = TestServer::start_with_full_pools(&proxy.database_url, limits).await;
        let owner = server.organization("acme").await;
        server.pipeline(&owner, "Web").await;
        assert!(eventually(DETECTION_TIMEOUT, || server.is_ready()).await);
        server.events(pool, &owner).await;
        let stream = Stream::open(&server, &owner, "?category=deployment").await;
        let busy = join_all((0..32).map(|_| async {
            loop {
                success(server.request(&owner, Method::GET, "/pipelines/web").send().await.unwrap(), 200)
                    .await;
            }
        }));
        // The outage begins during this request, and its client disconnects.
        assert!(tokio::time::timeout(Duration::from_millis(300), busy).await.is_err());
        proxy.set(network);
        Self { proxy, server, owner, stream }
    }

    async fn create(&self, key: &str) -> Response {
        let request =
            self.server.request(&self.owner, Method::POST, "/pipelines").header("idempotency-key", key);
        request.json(&new_pipeline(key)).send().await.unwrap()
    }

    /// During the outage: the server is alive and not ready, and every request gets a response in time.
    async fn requests_fail_in_time(&self) {
        let began = Instant::now();
        let unready = async {
            assert!(
                eventually(DETECTION_TIMEOUT, || async { !self.server.is_ready().await }).await,
                "the server is still ready"
            );
            began.elapsed()
        };
        let requests = async {
            let reads = join_all(
                (0..5).map(|_| self.server.request(&self.owner, Method::GET, "/pipelines/web").send()),
            );
            let (reads, changed) = tokio::join!(reads, self.create("during"));
            for response in reads.into_iter().map(Result::unwrap).chain([changed]) {
                is_unavailable(response).await;
            }
            assert!(began.elapsed() < RESPONSE_TIMEOUT, "responses took {:?}", began.elapsed());
        };
        let alive = async {
            for _ in 0..50 {
                let began = Instant::now();
                assert_eq!(self.server.status("/livez").await, 200);
                assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let (_, (), ()) = tokio::join!(unready, requests, alive);
        assert!(!self.server.is_ready().await);
        // The outage is detected by now, so requests fail fast.
        is_unavailable(self.server.request(&self.owner, Method::GET, "/pipelines/web").send().await.unwrap())
            .await;
        assert!(!self.server.is_ready().await);
    }

    /// During the outage, without requests.
    async fn readiness_fails_without_requests(&self) {
        assert!(
            eventually(DETECTION_TIMEOUT, || async { !self.server.is_ready().await }).await,
            "the server is still ready"
        );
    }

    /// After the outage: the server is ready, and repeated requests take effect once.
    async fn recovers(mut self, pool: &PgPool) {
        self.proxy.set(Network::Good);
        let lifted = Instant::now();
        assert!(
            eventually(DETECTION_TIMEOUT, || self.server.is_ready()).await,
            "not ready {:?} after the outage",
            lifted.elapsed()
        );
        let round = || async {
            let reads = join_all(
                (0..16).map(|_| self.server.request(&self.owner, Method::GET, "/pipelines/web").send()),
            );
            reads.await.into_iter().all(|response| response.unwrap().status() == 200)
        };
        assert!(
            eventually(RECOVERY_TIMEOUT, round).await,
            "requests fail {:?} after the outage",
            lifted.elapsed()
        );
        // A change with an unknown outcome is repeated with its idempotency key and takes effect once.
        success(self.create("during").await, 201).await;
        let listed = self.server.get(&self.owner, "/pipelines").await;
        let slugs: Vec<&Value> =
            listed["data"].as_array().unwrap().iter().map(|pipeline| &pipeline["slug"]).collect();
        assert_eq!(slugs, ["during", "web"]);
        assert_eq!(listed["pagination"]["total"], 2);
        assert!(lifted.elapsed() < RECOVERY_TIMEOUT, "{:?}", lifted.elapsed());

        // No connection leaks, neither one in use nor one that was being returned to the pool.
        let given_back = || async {
            let ConnectionCounts { open, idle } = self.server.server.app.store.connections();
            usize::try_from(open).unwrap() == idle
        };
        let store = &self.server.server.app.store;
        assert!(
            eventually(RECOVERY_TIMEOUT, given_back).await,
            "some of {:?} connections are not returned",
            store.connections()
        );

        // Background tasks have recovered as well: events are sequenced and sent to streams.
        let sequenced = eventually(RECOVERY_TIMEOUT, || async {
            sqlx::query_scalar::<_, i64>("select count(*) from event_intake").fetch_one(pool).await.unwrap()
                == 0
        });
        assert!(sequenced.await, "events are not sequenced {:?} after the outage", lifted.elapsed());
        let mut new = Stream::open(&self.server, &self.owner, "?after=0&category=deployment").await;
        assert_eq!(new.messages(2).await[1].data["data"]["after"]["slug"], "during");
        let received = loop {
            match self.stream.read(RECOVERY_TIMEOUT).await {
                Read::Comment => {}
                received => break received,
            }
        };
        match received {
            // An ended stream is fine: its reader reconnects.
            Read::Ended => {}
            Read::Message(message) => assert_eq!(message.data["data"]["after"]["slug"], "during"),
            other => assert_eq!(other, Read::Ended, "a stream from before the outage hangs"),
        }
        // Events arrive by NOTIFY again, and not only by the fallback poll every second.
        let mut delays = Vec::new();
        for number in 0..9 {
            success(self.create(&format!("after-{number}")).await, 201).await;
            let responded = Instant::now();
            assert_eq!(new.message().await.data["data"]["after"]["slug"], format!("after-{number}"));
            delays.push(responded.elapsed());
        }
        delays.sort_unstable();
        assert!(delays[4] < Duration::from_millis(300), "events are late after the outage: {delays:?}");

        // The periodic check of tokens of open streams has recovered as well.
        let made = self.server.post(&self.owner, "/api-tokens", json!({ "name": "second" })).await;
        let second = Caller { token: made["token"].as_str().unwrap().to_owned(), ..self.owner.clone() };
        let mut watched = Stream::open(&self.server, &second, "").await;
        let revoke = format!("/api-tokens/{}", made["id"].as_str().unwrap());
        success(self.server.request(&self.owner, Method::DELETE, &revoke).send().await.unwrap(), 200).await;
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

#[tokio::test]
async fn waits_a_stalled_network_recovers() {
    let (_database, pool) = TestDatabase::create().await;
    let outage = OutageFixture::begin(&pool, Network::Stalled).await;
    outage.requests_fail_in_time().await;
    outage.recovers(&pool).await;
}

#[tokio::test]
async fn waits_connections_that_stay_silent_are_replaced() {
    let (_database, pool) = TestDatabase::create().await;
    let outage = OutageFixture::begin(&pool, Network::Blackhole).await;
    outage.requests_fail_in_time().await;
    outage.recovers(&pool).await;
}

#[tokio::test]
async fn waits_a_stall_without_requests_is_detected() {
    let (_database, pool) = TestDatabase::create().await;
    let outage = OutageFixture::begin(&pool, Network::Blackhole).await;
    outage.readiness_fails_without_requests().await;
    outage.recovers(&pool).await;
}

#[tokio::test]
async fn waits_connections_that_are_reset_are_replaced() {
    let (_database, pool) = TestDatabase::create().await;
    let outage = OutageFixture::begin(&pool, Network::Reset).await;
    outage.requests_fail_in_time().await;
    outage.recovers(&pool).await;
}

/// A stream that was reading the history continues or ends, and does not hang.
#[tokio::test]
async fn waits_a_stream_that_was_behind_continues_or_ends() {
    let (_database, pool) = TestDatabase::create().await;
    let outage = OutageFixture::begin(&pool, Network::Good).await;
    let (server, owner) = (&outage.server, &outage.owner);
    record_large_events(&pool, "acme", 6_000, 4_000).await;
    let head = server.head(&pool, owner).await;
    let mut stream = Stream::open(server, owner, "?after=0").await;
    let mut last_id = stream.message().await.id;
    outage.proxy.set(Network::Blackhole);
    outage.readiness_fails_without_requests().await;
    // Buffered events still arrive, but not all events.
    while let Read::Message(message) = stream.read(Duration::from_secs(1)).await {
        last_id = message.id;
    }
    assert!(last_id < head, "{last_id} of {head}");
    outage.proxy.set(Network::Good);
    let lifted = Instant::now();
    while last_id < head {
        match stream.read(Duration::from_secs(1)).await {
            Read::Message(message) => last_id = message.id,
            Read::Ended => break,
            Read::Comment | Read::Silent => {
                assert!(lifted.elapsed() < RESPONSE_TIMEOUT, "it hangs at {last_id} of {head}")
            }
        }
    }
    outage.server.end().await;
}
