//! `greenroom-runner`: runs the jobs of Greenroom's pipelines.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use greenroom_client::{Connection, RunnerClient, Settings};
use greenroom_runner::backend::Backend;
use greenroom_runner::backend::container::Container;
use greenroom_runner::backend::dummy::Dummy;
use greenroom_runner::backend::process::Process;
use greenroom_runner::config::{BackendKind, Config, VERSION};
use greenroom_runner::job::folders::WorkDir;
use greenroom_runner::liveness;
use greenroom_runner::runner::{Ending, Runner, Stop};
use greenroom_runner::telemetry;
use greenroom_traces::Collector;
use nix::sys::prctl;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// The exit code of a runner whose token was revoked: `EX_NOPERM` of `sysexits.h`. A restart would not help.
const EXIT_REVOKED: u8 = 77;

fn main() -> anyhow::Result<ExitCode> {
    // No other process of this user can read this one's memory, which contains tokens and secrets.
    prctl::set_dumpable(false).context("this process could not be protected")?;
    let config = Config::parse();
    config.check_encryption()?;
    telemetry::init_logs(&config.log.filter, config.log.format)?;
    let collector = Collector::start(&config.traces, "greenroom-runner", VERSION)?;
    let outcome = Runtime::new()?.block_on(start(&config));
    if let Some(collector) = collector {
        collector.stop();
    }
    outcome
}

async fn start(config: &Config) -> anyhow::Result<ExitCode> {
    let work_dir = WorkDir::take(&config.work_dir)
        .with_context(|| format!("the work folder {} cannot be used", config.work_dir.display()))?;
    match config.backend {
        BackendKind::Container => {
            let (name, entry) = (config.name()?, config.entry()?);
            let isolation = config.isolation();
            let backend =
                Container::connect(&config.docker_host, &name, work_dir.path(), &entry, isolation).await?;
            run(config, work_dir, backend).await
        }
        BackendKind::Process => {
            let entry = config.entry()?;
            run(config, work_dir, Process { entry }).await
        }
        BackendKind::Dummy => run(config, work_dir, Dummy).await,
    }
}

async fn run<B: Backend>(config: &Config, work_dir: WorkDir, backend: B) -> anyhow::Result<ExitCode> {
    let settings = Settings {
        base: config.url.clone(),
        token: config.token()?,
        program: concat!("greenroom-runner/", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let runner = Runner {
        client: RunnerClient::new(Connection::new(&settings)?).with_concurrency(config.concurrency),
        backend: Arc::new(backend),
        work_dir: Arc::new(work_dir),
        concurrency: config.concurrency,
        access: Arc::new(config.access()),
        drain: Duration::from_secs(config.drain_seconds),
    };
    let stop = Stop::default();
    let mut tasks = JoinSet::new();
    tasks.spawn(handle_signals(stop.clone()));
    let folder = runner.work_dir.path().to_owned();
    tasks.spawn(async move { liveness::report(&folder).await });
    if config.leaves_machine_unencrypted() {
        tracing::warn!(url = config.url, "tokens and secrets are sent without encryption: use https://");
    }
    tracing::info!(url = config.url, concurrency = config.concurrency, backend = ?config.backend, "started");
    match runner.run(stop).await? {
        Ending::Stopped => {
            tracing::info!("stopped");
            Ok(ExitCode::SUCCESS)
        }
        Ending::Revoked => {
            tracing::error!(code = EXIT_REVOKED, "exiting: this runner's token was revoked");
            Ok(ExitCode::from(EXIT_REVOKED))
        }
    }
}

/// The first signal drains the runner, the second one ends the drain time.
async fn handle_signals(stop: Stop) {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("could not install signal handlers; this runner can only be killed");
        return;
    };
    for token in [&stop.drain, &stop.now] {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        token.cancel();
        liveness::report_stopping();
    }
}
