//! Load through HTTP: each client claims and releases its own environment as fast as the server responds. All
//! clients run on one thread, as pgbench's run on a few, so that their cost is small and the same in every
//! run.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::fixture::LockFixture;

pub(crate) struct Load {
    pub(crate) pairs: u64,
    pub(crate) seconds: f64,
}

pub(crate) async fn load(fixture: &LockFixture, connections: u32, seconds: u32) -> anyhow::Result<Load> {
    let fixture = fixture.clone();
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(on_this_thread(fixture, connections, Duration::from_secs(seconds.into())))
    })
    .await?
}

async fn on_this_thread(fixture: LockFixture, connections: u32, length: Duration) -> anyhow::Result<Load> {
    let mut clients = Vec::new();
    for number in 0..connections {
        clients.push(fixture.client(number).await?);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for mut client in clients {
        tasks.spawn(async move {
            let mut pairs = 0;
            while started.elapsed() < length {
                client.claim().await?;
                client.release().await?;
                pairs += 1;
            }
            anyhow::Ok(pairs)
        });
    }
    let mut pairs: u64 = 0;
    while let Some(ended) = tasks.join_next().await {
        pairs += ended??;
    }
    Ok(Load { pairs, seconds: started.elapsed().as_secs_f64() })
}
