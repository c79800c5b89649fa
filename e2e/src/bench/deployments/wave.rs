//! A number of deployments, started at once by a few clients through the API, until the last one has succeeded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use sqlx::PgConnection;

use super::site::{Site, commit};

const LOOK_AGAIN: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(600);

/// How many seconds it took. Ends are counted in the database, as that costs the server nothing.
pub(crate) async fn run(
    site: &Site,
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
            site.deploy(&commit(number)).await?;
        }
    };
    let started = all((0..clients).map(|_| client()).collect());
    let (started, seconds) = tokio::join!(started, until_all_ended(connection, before + count, began));
    started?;
    seconds.map_err(|error| error.context(site.complaints()))
}

struct Ended {
    succeeded: usize,
    otherwise: usize,
}

async fn until_all_ended(
    connection: &mut PgConnection,
    wanted: usize,
    began: Instant,
) -> anyhow::Result<f64> {
    loop {
        let Ended { succeeded, otherwise } = ended(connection).await?;
        if otherwise > 0 {
            bail!("{otherwise} deployments did not succeed");
        }
        if succeeded == wanted {
            return Ok(began.elapsed().as_secs_f64());
        }
        if began.elapsed() > PATIENCE {
            bail!("{succeeded} of {wanted} deployments had ended after {PATIENCE:?}");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
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

/// Waits for all of them, side by side on this task: they only wait for answers.
async fn all<F: Future<Output = anyhow::Result<()>>>(futures: Vec<F>) -> anyhow::Result<()> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    std::future::poll_fn(|cx| {
        for place in &mut futures {
            if let Some(future) = place
                && let std::task::Poll::Ready(done) = future.as_mut().poll(cx)
            {
                done?;
                *place = None;
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
