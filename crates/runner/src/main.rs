//! `greenroom-runner`: carries out what pipelines say.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use greenroom_client::{Connection, RunnerClient, Settings};
use greenroom_runner::backend::Backend;
use greenroom_runner::backend::container::Container;
use greenroom_runner::backend::dummy::Dummy;
use greenroom_runner::backend::process::Process;
use greenroom_runner::config::{BackendKind, Config};
use greenroom_runner::job::folders::WorkDir;
use greenroom_runner::runner::{Runner, Stop};
use greenroom_runner::telemetry;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let config = Config::parse();
    telemetry::logs(&config.log.filter, config.log.format)?;
    let work_dir = WorkDir::take(&config.work_dir)
        .with_context(|| format!("the work folder {} cannot be used", config.work_dir.display()))?;
    match config.backend {
        BackendKind::Container => {
            let (name, entry) = (config.name()?, config.entry()?);
            let isolation = config.isolation();
            let backend =
                Container::connect(&config.docker_host, &name, work_dir.path(), &entry, isolation).await?;
            run(&config, work_dir, backend).await
        }
        BackendKind::Process => {
            let entry = config.entry()?;
            run(&config, work_dir, Process { entry }).await
        }
        BackendKind::Dummy => run(&config, work_dir, Dummy).await,
    }
}

async fn run<B: Backend>(config: &Config, work_dir: WorkDir, backend: B) -> anyhow::Result<()> {
    let settings = Settings {
        base: config.url.clone(),
        token: config.token()?,
        program: concat!("greenroom-runner/", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let runner = Runner {
        client: RunnerClient::new(Connection::new(&settings)?),
        backend: Arc::new(backend),
        work_dir: Arc::new(work_dir),
        concurrency: config.concurrency,
        access: Arc::new(config.access()),
        drain: Duration::from_secs(config.drain_seconds),
    };
    let stop = Stop::default();
    let mut listener = JoinSet::new();
    listener.spawn(listen(stop.clone()));
    tracing::info!(url = config.url, concurrency = config.concurrency, backend = ?config.backend, "started");
    runner.run(stop).await?;
    tracing::info!("stopped");
    Ok(())
}

/// The first signal drains, the second does not wait for that.
async fn listen(stop: Stop) {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("signals cannot be heard; this runner can only be killed");
        return;
    };
    for token in [&stop.drain, &stop.now] {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        token.cancel();
    }
}
