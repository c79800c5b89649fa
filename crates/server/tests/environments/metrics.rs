//! The metrics of claims, of ended leases and of queues. The server of a test runs on the test's own thread, which has a
//! recorder for it.

use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn claims_are_counted_by_outcome_and_leases_by_the_cause_of_their_end() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let rendered = || recorder.handle().render();
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.claim(&fixture.mate, json!({})).await.is(409);
    let too_long = json!({ "ttlSeconds": 1_000_000_000 });
    fixture.claim(&fixture.mate, too_long).await.is(422);
    fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);

    let store = &fixture.server.server.app.store;
    assert_eq!(store.backlog().await.unwrap().sessions, 1);
    for outcome in ["granted", "locked", "refused", "queued"] {
        let line = format!("greenroom_claims_total{{outcome=\"{outcome}\"}} 1\n");
        assert!(rendered().contains(&line), "{line}{}", rendered());
    }

    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let released = "greenroom_leases_ended_total{cause=\"released\"} 1\n";
    for _ in 0..100 {
        if rendered().contains(released) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(rendered().contains(released), "{}", rendered());
    assert!(rendered().contains("greenroom_leases_ended_total{cause=\"expired\"} 0\n"), "{}", rendered());
    // The class distinguishes requests that release a lock from those that may wait.
    assert!(rendered().contains("greenroom_http_request_seconds_count{class=\"reserved\",method=\"DELETE\""));
    assert_eq!(store.backlog().await.unwrap().sessions, 0, "the waiting session was granted");
    fixture.end().await;
}
