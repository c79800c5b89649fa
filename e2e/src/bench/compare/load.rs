//! Lists of pipelines through HTTP: each client sends the next request as soon as it has a response. All of
//! them run on one thread, like those of `bench locks`, so that they cost the server's machine little, and
//! the same in every run.

use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::task::JoinSet;

use crate::bench::locks::fixture::LockFixture;
use crate::bench::locks::load::Load;
use crate::bench::locks::wire::{self, Wire};

pub(crate) async fn lists(
    lock_fixture: &LockFixture,
    connections: u32,
    seconds: u32,
) -> anyhow::Result<Load> {
    let lock_fixture = lock_fixture.clone();
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(on_this_thread(&lock_fixture, connections, Duration::from_secs(seconds.into())))
    })
    .await?
}

async fn on_this_thread(
    lock_fixture: &LockFixture,
    connections: u32,
    length: Duration,
) -> anyhow::Result<Load> {
    let path = format!("/api/v1/organizations/{}/pipelines", lock_fixture.organization);
    let request = wire::request("GET", &lock_fixture.host, &path, &lock_fixture.token, "");
    let mut wires = Vec::new();
    for _ in 0..connections {
        wires.push(Wire::connect(&lock_fixture.host).await?);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for mut wire in wires {
        let request = request.clone();
        tasks.spawn(async move {
            let mut responses = 0;
            while started.elapsed() < length {
                let response = wire.send(&request).await?;
                if response.status != 200 {
                    bail!("a list returned {}", response.status);
                }
                responses += 1;
            }
            anyhow::Ok(responses)
        });
    }
    let mut responses: u64 = 0;
    while let Some(ended) = tasks.join_next().await {
        responses += ended??;
    }
    Ok(Load { pairs: responses, seconds: started.elapsed().as_secs_f64() })
}
