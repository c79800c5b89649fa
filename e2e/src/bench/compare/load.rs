//! Lists of pipelines through HTTP: each client asks again as soon as it is answered. All of them on one thread, as those of
//! `bench locks` are, so that they cost the server's machine little, and the same in every run.

use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::task::JoinSet;

use crate::bench::locks::load::Load;
use crate::bench::locks::scene::Scene;
use crate::bench::locks::wire::{self, Wire};

pub(crate) async fn lists(scene: &Scene, connections: u32, seconds: u32) -> anyhow::Result<Load> {
    let scene = scene.clone();
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(on_this_thread(&scene, connections, Duration::from_secs(seconds.into())))
    })
    .await?
}

async fn on_this_thread(scene: &Scene, connections: u32, length: Duration) -> anyhow::Result<Load> {
    let path = format!("/api/v1/organizations/{}/pipelines", scene.organization);
    let request = wire::request("GET", &scene.host, &path, &scene.token, "");
    let mut wires = Vec::new();
    for _ in 0..connections {
        wires.push(Wire::connect(&scene.host).await?);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for mut wire in wires {
        let request = request.clone();
        tasks.spawn(async move {
            let mut answered = 0;
            while started.elapsed() < length {
                let answer = wire.ask(&request).await?;
                if answer.status != 200 {
                    bail!("a list was answered {}", answer.status);
                }
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut answered: u64 = 0;
    while let Some(ended) = tasks.join_next().await {
        answered += ended??;
    }
    Ok(Load { pairs: answered, seconds: started.elapsed().as_secs_f64() })
}
