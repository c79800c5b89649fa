//! Logs on standard error, metrics for Prometheus.

use std::io::IsTerminal;

use anyhow::Context;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// The engine's client tells of every call that it repeats. Its own users tell of an outage once, and that is enough.
const QUIET: &str = "temporalio_client::retry=off";

const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0];

pub fn logs(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(format!("{QUIET},{filter}"))
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
    let builder =
        PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?;
    builder.install_recorder().context("metrics were set up twice")
}
