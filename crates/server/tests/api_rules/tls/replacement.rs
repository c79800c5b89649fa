//! The certificate is replaced while clients connect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::fixture::{Pair, TlsFixture, connect, get_once};

/// 100 requests per second, each on a new connection.
const INTERVAL: Duration = Duration::from_millis(10);
/// Longer than it takes the server to read both files twice.
const PHASE: Duration = Duration::from_secs(5);

/// Returns which of the pairs a new connection was served with.
async fn served(fixture: &TlsFixture, pairs: &[&Pair]) -> usize {
    let stream = connect(&TlsFixture::client(pairs, &[]), fixture.address).await.unwrap();
    let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    pairs.iter().position(|pair| pair.certificate() == certificate).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_a_replaced_certificate_fails_no_request() {
    let fixture = TlsFixture::start().await;
    let path = fixture.folder.path().to_owned();
    let (second, third) = (Pair::make(&path, "second"), Pair::make(&path, "third"));
    let client = Arc::new(TlsFixture::client(&[&fixture.pair, &second, &third], &["http/1.1"]));
    let (address, mut requests, mut ticks) =
        (fixture.address, JoinSet::new(), tokio::time::interval(INTERVAL));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let began = Instant::now();
    let mut phase = 0;
    while phase < 3 {
        ticks.tick().await;
        let client = Arc::clone(&client);
        requests.spawn(async move {
            let mut stream = connect(&client, address).await.map_err(|error| error.to_string())?;
            let response = get_once(&mut stream, "x", "").await.map_err(|error| error.to_string())?;
            if response.ends_with("page") { Ok(()) } else { Err(response) }
        });
        if began.elapsed() > PHASE * (phase + 1) {
            phase += 1;
            match phase {
                // Both files, then only the key of the third pair, which does not belong to the certificate.
                1 => second.install(&path),
                2 => third.install_key(&path),
                _ => {}
            }
        }
    }
    let (sent, results) = (requests.len(), requests.join_all().await);
    let failed: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{} of {sent} failed, such as {:?}", failed.len(), failed.first());
    assert!(sent >= 1_000, "{sent} requests");
    let pairs = [&fixture.pair, &second, &third];
    assert_eq!(served(&fixture, &pairs).await, 1, "the pair that does not match is not used");
    third.install_certificate(&path);
    let deadline = Instant::now() + PHASE;
    while served(&fixture, &pairs).await != 2 {
        assert!(Instant::now() < deadline, "the third pair is not used");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fixture.end().await;
}
