//! A wave of deployments: a few clients of the API start them together, and it ends when the last one has
//! succeeded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use sqlx::PgConnection;

use super::fixture::{DeploymentFixture, commit};

const POLL_INTERVAL: Duration = Duration::from_millis(20);
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs a wave and returns how many seconds it took. Ended deployments are counted in the database, which
/// costs the server nothing.
pub(crate) async fn run(
    fixture: &DeploymentFixture,
    connection: &mut PgConnection,
    (count, clients): (usize, usize),
) -> anyhow::Result<f64> {
    let before = ended(connection).await?.succeeded;
    let (began, next) = (Instant::now(), AtomicUsize::new(0));
    let client = || async {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return anyhow::Ok(());
            }
            fixture.deploy(&commit(number)).await?;
        }
    };
    let started = all((0..clients).map(|_| client()).collect());
    let (started, seconds) = tokio::join!(started, wait_until_all_ended(connection, before + count, began));
    started?;
    seconds.map_err(|error| error.context(fixture.recent_errors()))
}

struct Ended {
    succeeded: usize,
    otherwise: usize,
}

async fn wait_until_all_ended(
    connection: &mut PgConnection,
    wanted: usize,
    began: Instant,
) -> anyhow::Result<f64> {
    loop {
        let Ended { succeeded, otherwise } = ended(connection).await?;
        if otherwise > 0 {
            bail!("{otherwise} deployments did not succeed: {}", describe_failures(connection).await?);
        }
        if succeeded == wanted {
            return Ok(began.elapsed().as_secs_f64());
        }
        if began.elapsed() > TIMEOUT {
            bail!("{succeeded} of {wanted} deployments had ended after {TIMEOUT:?}");
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn ended(connection: &mut PgConnection) -> anyhow::Result<Ended> {
    let (succeeded, otherwise): (i64, i64) = sqlx::query_as(
        "select count(*) filter (where status = 'succeeded'), count(*) filter (where status <> 'succeeded')
         from deployments where ended_at is not null",
    )
    .fetch_one(connection)
    .await?;
    Ok(Ended { succeeded: usize::try_from(succeeded)?, otherwise: usize::try_from(otherwise)? })
}

/// Describes the attempts that did not succeed.
async fn describe_failures(connection: &mut PgConnection) -> anyhow::Result<String> {
    let rows: Vec<String> = sqlx::query_scalar(
        "select concat_ws(' ', d.id, d.status, d.reason, j.stage_key, j.status, j.reason, j.detail, s.status, s.reason,
                j.queued_at, j.started_at, j.lease_expires_at, j.ended_at)
         from deployments d
         left join jobs j on j.deployment_id = d.id and j.status <> 'succeeded'
         left join step_runs s on s.job_id = j.id
         where d.ended_at is not null and d.status <> 'succeeded' limit 10",
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.join("; "))
}

/// Waits for all futures concurrently on this task. They only wait for responses.
async fn all<F: Future<Output = anyhow::Result<()>>>(futures: Vec<F>) -> anyhow::Result<()> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    std::future::poll_fn(|cx| {
        for slot in &mut futures {
            if let Some(future) = slot
                && let std::task::Poll::Ready(done) = future.as_mut().poll(cx)
            {
                done?;
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) {
            std::task::Poll::Ready(Ok(()))
        } else {
            std::task::Poll::Pending
        }
    })
    .await
}
