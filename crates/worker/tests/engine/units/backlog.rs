//! The series of jobs that wait.

use greenroom_store::system::backlog::WaitingJobs;
use greenroom_worker::backlog::PoolSeries;

fn pool(name: &str, jobs: i64, oldest_seconds: f64) -> WaitingJobs {
    WaitingJobs { pool: name.to_owned(), jobs, oldest_seconds }
}

#[test]
fn series_of_pools_that_are_gone_are_empty() {
    let mut series = PoolSeries::default();
    let pools = (0..102).map(|number| pool(&format!("pool-{number:03}"), 2, 7.0)).collect();
    let measured = series.measured(pools);
    assert_eq!((measured.len(), measured["pool-099"], measured["(others)"]), (101, (2, 7.0), (4, 7.0)));

    let measured = series.measured(vec![pool("pool-000", 1, 3.0)]);
    assert_eq!((measured.len(), measured["pool-000"]), (101, (1, 3.0)));
    assert_eq!((measured["pool-099"], measured["(others)"]), ((0, 0.0), (0, 0.0)));
    // One that comes later has no series of its own.
    assert_eq!(series.measured(vec![pool("late", 5, 1.0)])["(others)"], (5, 1.0));
}
