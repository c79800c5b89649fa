//! The metrics of jobs that wait: by the name of their pool, and 0 for pools that have nothing to do.

use greenroom_worker::backlog::{PoolSeries, run_once};
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const TWO_POOLS: &str = "stages:\n  a: { steps: [{ image: a, run: 'true' }] }\n  b: { runner: { pool: gpu }, steps: [{ image: a, run: 'true' }] }\n";

#[tokio::test]
async fn jobs_that_wait_are_measured_by_pool() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, TWO_POOLS).await;
    let store = &fixture.server.server.app.store;
    let advance = fixture.advance(&fixture.start().await).await;
    assert_eq!(advance.dispatch.len(), 2, "{advance:?}");
    sqlx::query("update jobs set queued_at = queued_at - interval '1 hour' where stage_key = 'b'")
        .execute(&pool)
        .await
        .unwrap();

    let waiting = store.waiting_jobs(10).await.unwrap();
    let counts: Vec<_> = waiting.iter().map(|one| (one.pool.as_str(), one.jobs)).collect();
    assert_eq!(counts, [("default", 1), ("gpu", 1)], "pools with a runner come first");
    assert!(waiting[0].oldest_seconds < 600.0 && waiting[1].oldest_seconds >= 3600.0, "{waiting:?}");

    let recorder = PrometheusBuilder::new().build_recorder();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let mut series = PoolSeries::default();
    run_once(store, &mut series).await.unwrap();
    let rendered = recorder.handle().render();
    assert!(rendered.contains("greenroom_jobs_waiting{pool=\"gpu\"} 1\n"), "{rendered}");
    assert!(rendered.contains("greenroom_deliveries_due{kind=\"wake_ups\"}"), "{rendered}");

    sqlx::query("update jobs set status = 'running' where stage_key = 'a'").execute(&pool).await.unwrap();
    sqlx::query("update runner_pools set name = 'tpu' where name = 'gpu'").execute(&pool).await.unwrap();
    run_once(store, &mut series).await.unwrap();
    let rendered = recorder.handle().render();
    for line in ["{pool=\"default\"} 0\n", "{pool=\"gpu\"} 0\n", "{pool=\"tpu\"} 1\n"] {
        assert!(rendered.contains(&format!("greenroom_jobs_waiting{line}")), "{line}{rendered}");
    }
    assert!(rendered.contains("greenroom_oldest_job_waiting_seconds{pool=\"default\"} 0\n"), "{rendered}");
    fixture.end().await;
}

/// Members choose the names of pools, so their number has to be bounded.
#[tokio::test]
async fn names_of_pools_make_a_bounded_number_of_series() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, TWO_POOLS).await;
    fixture.advance(&fixture.start().await).await;
    let many = "insert into runner_pools (organization_id, id, name)
                select organization_id, gen_random_uuid(), 'made-up-' || lpad(n::text, 3, '0')
                from runner_pools, generate_series(1, 150) n where name = 'default'";
    sqlx::query(many).execute(&pool).await.unwrap();
    let recorder = PrometheusBuilder::new().build_recorder();
    let _recording = metrics::set_default_local_recorder(&recorder);
    run_once(&fixture.server.server.app.store, &mut PoolSeries::default()).await.unwrap();
    let rendered = recorder.handle().render();
    assert_eq!(rendered.matches("greenroom_jobs_waiting{").count(), 101, "{rendered}");
    for line in ["{pool=\"default\"} 1\n", "{pool=\"gpu\"} 1\n", "{pool=\"(others)\"} 0\n"] {
        assert!(rendered.contains(&format!("greenroom_jobs_waiting{line}")), "{line}{rendered}");
    }
    fixture.end().await;
}
