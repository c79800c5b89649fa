//! Logs on standard error, metrics for Prometheus.

pub(crate) mod help;

use std::io::IsTerminal;

use anyhow::Context;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// The engine's client logs every retry. Its users log an outage once, which is enough.
const DEFAULT_FILTER: &str = "temporalio_client::retry=off";

const LATENCY_BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0];

pub fn logs(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(format!("{DEFAULT_FILTER},{filter}"))
        .context("GREENROOM_LOG is not a filter such as `info` or `greenroom=debug`")?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.init(),
    }
    Ok(())
}

pub fn metrics() -> anyhow::Result<PrometheusHandle> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &LATENCY_BUCKETS)?;
    let handle = builder.install_recorder().context("metrics were set up twice")?;
    help::describe();
    Ok(handle)
}
